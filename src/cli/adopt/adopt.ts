import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { createFile, READABLE } from '../../base/durable-file.ts'
import { createLog } from '../../base/log/log.ts'
import { plain } from '../../base/log/terminal-line.ts'
import { Unavailable } from '../../base/refusal.ts'
import { labelOf } from '../../settings/notation/yaml.ts'
import { type Survey, surveyRedis } from '../../store/redis/adoption-survey.ts'
import { probeHashSource } from '../check-connect.ts'
import type { Command } from '../command.ts'
import { CommandError, programOf, say, shellWord, type Terminal, UsageError } from '../terminal.ts'
import { configurationOf, secretsOf } from './configuration.ts'
import { queriesFor } from './database.ts'
import { findingsOf } from './findings.ts'
import { type Plan, planOf } from './plan.ts'
import { readService } from './service.ts'

export const adopt: Command = {
  words: '[FOLDER]',
  summary: 'report what a move from a compatible service needs, and write a configuration for it',
  help: `Reads the settings of the other service (REDIS__*, JWT__*, SM2__*, DB__*, in a .env or a YAML file), its Redis and its
table of accounts, and changes nothing there. Prints what it found and what will not work. Then it writes into the folder,
or into the working directory:

  config/gateway.yaml   a configuration that shares the Redis with the service, with the query for the accounts
  .env                  the secrets, readable only by you

If one of them exists, nothing is written. No secret is printed. config/examples/README.md describes the steps of a move.

  --env FILE          the .env or the YAML file of the other service
  --redis URL         its Redis, where FILE does not name it; or ADOPT_REDIS_URL in the environment, which does not show the
                      password to other users of the machine`,
  options: { env: { type: 'string' }, redis: { type: 'string' } },
  async run({ values, words: [folder = '.', ...more] }, terminal) {
    if (more.length > 0) throw new UsageError(`adopt takes one folder, but also got ${more.join(' ')}`)
    const { output, environment, cwd } = terminal
    const service = typeof values.env === 'string' ? readService(values.env, cwd) : null
    const url = typeof values.redis === 'string' ? values.redis : (environment.ADOPT_REDIS_URL ?? service?.redisUrl)
    if (url === undefined) throw missingAddress(values.env)
    const survey = await surveyed(url)
    const plan = planOf(survey, service, url, systemClock.now())
    await askAccounts(plan)
    say(output, ...findingsOf(survey, service, url).map(plain), '')
    if (plan.problems.length === 0) say(output, 'found nothing that will not work', '')
    else say(output, 'what will not work:', ...plan.problems.map(problem => `  - ${plain(problem)}`), '')
    write(plan, resolve(cwd, folder), terminal)
    return 0
  },
}

function missingAddress(file: unknown): UsageError {
  const remedy =
    typeof file === 'string'
      ? `${file} does not name it; use --redis URL`
      : 'name the file of the other service with --env FILE, or use --redis URL'
  return new UsageError(`the address of Redis is missing: ${remedy}`)
}

async function surveyed(url: string): Promise<Survey> {
  if (!URL.canParse(url) || !/^rediss?:$/.test(new URL(url).protocol)) {
    throw new CommandError('the address of Redis must be redis://… or rediss://…')
  }
  try {
    return await surveyRedis(url, createLog('silent'))
  } catch (fault) {
    if (fault instanceof Unavailable) throw new CommandError('Redis does not answer', { cause: fault })
    // The message of Redis may quote a key, and with it a token.
    throw new CommandError('Redis refuses to be read; does this user have the right to SCAN and GET?')
  }
}

/** Milliseconds for a question to the database of the service. */
const ACCOUNTS_TIMEOUT = 10_000

/** Tries the queries of the configuration at the database. */
async function askAccounts({ database, problems }: Plan): Promise<void> {
  if (database === null || 'fault' in database) return
  const { url, kind } = database
  const settings = {
    kind: 'sql',
    url,
    ...queriesFor(kind),
    timeout: ACCOUNTS_TIMEOUT,
    pool: 1,
    recheck: 'off',
  } as const
  const { isReached, text } = await probeHashSource('accounts in config/gateway.yaml', settings, true)
  if (!isReached) problems.push(`the query for the accounts fails: ${text}`)
}

/** Both files, or none: they fit each other. */
function write(plan: Plan, root: string, terminal: Terminal): void {
  const { output, cwd } = terminal
  const [configuration, secrets] = [join(root, 'config/gateway.yaml'), join(root, '.env')]
  const existing = [configuration, secrets].find(file => existsSync(file))
  if (existing !== undefined)
    throw new CommandError(
      `${labelOf(existing, cwd)} exists, so nothing was written; name another folder: adopt … FOLDER`,
    )
  const [yaml, env] = [configurationOf(plan), secretsOf(plan)]
  mkdirSync(dirname(configuration), { recursive: true })
  const appeared = (file: string) => new CommandError(`${labelOf(file, cwd)} exists, so nothing was written`)
  if (!createFile(secrets, env)) throw appeared(secrets)
  try {
    if (!createFile(configuration, yaml, READABLE)) throw appeared(configuration)
  } catch (fault) {
    rmSync(secrets)
    throw fault
  }
  const program = programOf(terminal)
  const there = root === cwd ? '' : `cd ${shellWord(labelOf(root, cwd))} && `
  say(output, `wrote ${labelOf(configuration, cwd)}`, `wrote ${labelOf(secrets, cwd)}, with the secrets`)
  say(output, `next: ${there}${program} check --connect`, `then: ${program} start`)
}
