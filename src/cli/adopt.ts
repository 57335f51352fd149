import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createLog } from '../log.ts'
import { Unavailable } from '../refusal.ts'
import { type Survey, surveyRedis } from '../store/redis/survey.ts'
import { startingConfiguration } from './adopt-configuration.ts'
import { findingsOf, type Other, readOther } from './adopt-findings.ts'
import type { Command } from './command.ts'
import { CommandError, say, UsageError } from './terminal.ts'

export const adopt: Command = {
  words: '[FILE]',
  summary: 'report what a move from a compatible service needs, and print an initial configuration',
  help: `FILE is the .env or the YAML file of the other service. Its Redis is read, and nothing in it is changed. Prints what
matters for a move: prefix, sessions of each side, how records write their time, whether the secret fits the tokens, where
captchas are kept; then a configuration to begin with. No secret is printed or written. config/examples/README.md says how
a move goes.

  --redis URL         its Redis, where FILE does not name it; or ADOPT_REDIS_URL in the environment, which does not show the
                      password to other users of the machine
  --write FILE        write the configuration into a new file; an existing one is never replaced`,
  options: { redis: { type: 'string' }, write: { type: 'string' } },
  async run({ values, words }, { output, environment, cwd }) {
    if (words.length > 1) throw new UsageError(`adopt takes one file, but got ${words.join(' ')}`)
    const other = words[0] === undefined ? null : readOther(words[0], cwd)
    const url = typeof values.redis === 'string' ? values.redis : (environment.ADOPT_REDIS_URL ?? other?.redisUrl)
    if (url === undefined)
      throw new UsageError('the address of Redis is missing: name the file of the other service, or use --redis URL')
    const survey = await surveyed(url)
    say(output, ...findingsOf(survey, other, url))
    writeOrPrint(survey, other, values.write, output, cwd)
    return 0
  },
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

function writeOrPrint(
  survey: Survey,
  other: Other | null,
  file: unknown,
  output: NodeJS.WritableStream,
  cwd: string,
): void {
  const text = startingConfiguration(survey, other)
  if (typeof file !== 'string') {
    say(output, '', text)
    return
  }
  try {
    writeFileSync(resolve(cwd, file), `${text}\n`, { flag: 'wx' })
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'EEXIST') throw fault
    throw new CommandError(`${file} is there already and stays as it is; name a new file`)
  }
  say(output, '', `written: ${file}; dualgate check --config ${file} says what is still missing`)
}
