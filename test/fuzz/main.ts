import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startWireUpstream } from '../attack/wire-upstream.ts'
import { call } from '../support/client.ts'
import { withoutNginx } from '../support/nginx.ts'
import { newcomerFolder, startGateway } from '../support/process.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { fuzzAccounts } from './accounts.ts'
import { fuzzCookies } from './cookies.ts'
import { EXCEPTIONS, PAGES } from './exceptions.ts'
import { fuzzEmbeddedJournal, fuzzRedisJournal } from './journal-stores.ts'
import { fuzzKeys } from './keys.ts'
import { fuzzLoginSteps } from './login-steps.ts'
import type { SequenceOptions, SequenceResult } from './model.ts'
import { fuzzNavigations } from './navigations.ts'
import { startNginx } from './nginx.ts'
import type { Rules } from './readers.ts'
import { type FuzzOptions, type FuzzResult, runFuzz, type Witness } from './run.ts'
import { wireWitness } from './wire-witness.ts'

const HELP = `npm run fuzz -- [options]
  Sends generated requests to a gateway in a process of its own, before a backend that reads bytes strictly, and then
  before nginx, and looks whether each arrived where its sender may go in the eyes of every reader, or was refused.
  Then takes random sequences of steps, and compares each step with a model: changes of accounts by administrators, the
  command line and an editor, some of them at the same time; logins with tickets, codes and new passwords; entries, pages
  and removals of the journal; requests with cookies of every kind; navigations; keys and what happens to their users.
    --requests 240000       of which a sixth go to nginx
    --sequences 120         of accounts; of logins as many, of the journal of each store five times as many
    --seed N --path P       replays what an earlier run found
    --only wire|wire-2|wire-exceptions|wire-pages|nginx|accounts|login-steps|cookies|navigations|keys|keys-redis|journal|
                            journal-redis
                            wire-2 is a gateway in Profile 2, wire-exceptions one with gate.exceptions, wire-pages one with
                            gate.pages`

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '240000' },
    sequences: { type: 'string', default: '120' },
    seed: { type: 'string' },
    path: { type: 'string' },
    only: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

interface Backend {
  url: string
  witness: Witness
  stop(): Promise<void>
}

async function startWire(): Promise<Backend> {
  const upstream = await startWireUpstream()
  return { url: upstream.url, witness: wireWitness(upstream), stop: () => upstream.close() }
}

const RUNS: Readonly<Record<string, { share: number; rules: Rules; start(): Promise<Backend> }>> = {
  wire: { share: 2 / 6, rules: { profile: 1, exceptions: [] }, start: startWire },
  'wire-2': { share: 1 / 6, rules: { profile: 2, exceptions: [] }, start: startWire },
  'wire-exceptions': { share: 1 / 6, rules: { profile: 1, exceptions: EXCEPTIONS }, start: startWire },
  'wire-pages': { share: 1 / 6, rules: { profile: 1, exceptions: [], pages: PAGES }, start: startWire },
  nginx: {
    share: 1 / 6,
    rules: { profile: 1, exceptions: [] },
    async start() {
      const witness = await startNginx()
      return { url: witness.url, witness, stop: () => witness.stop() }
    },
  },
}

const SEQUENCES: Readonly<Record<string, { times: number; check(options: SequenceOptions): Promise<SequenceResult> }>> =
  {
    accounts: { times: 1, check: fuzzAccounts },
    'login-steps': { times: 1, check: fuzzLoginSteps },
    cookies: { times: 5, check: fuzzCookies },
    navigations: { times: 5, check: fuzzNavigations },
    keys: { times: 1, check: fuzzKeys('embedded') },
    'keys-redis': { times: 1, check: fuzzKeys('redis') },
    journal: { times: 5, check: fuzzEmbeddedJournal },
    'journal-redis': { times: 5, check: fuzzRedisJournal },
  }

async function fuzz(name: string, requests: number): Promise<FuzzResult> {
  const { rules, start } = RUNS[name]!
  const backend = await start()
  const { folder, remove } = newcomerFolder()
  const upstreams = [{ name, match: rules.pages === undefined ? '/api' : '/', target: backend.url }]
  writeFileSync(join(folder, 'config/upstreams.yaml'), JSON.stringify({ upstreams }))
  const gateway = await startGateway(folder, {
    PROFILE: String(rules.profile),
    GATE__EXCEPTIONS: JSON.stringify(rules.exceptions),
    GATE__PAGES: JSON.stringify(rules.pages ?? []),
    WORKERS: '1',
    LOG__ACCESS: 'off',
    LOG__LEVEL: 'error',
  })
  try {
    const secret = readFileSync(join(folder, 'data/internal.secret'), 'utf8').trim()
    const options: FuzzOptions = {
      url: gateway.url,
      tokens: {
        BUSINESS: await signIn(gateway.internal, 'business', secret),
        CONSUMER: await signIn(gateway.internal, 'consumer', secret),
      },
      witness: backend.witness,
      rules,
      requests,
      seed: values.seed === undefined ? undefined : Number(values.seed),
      path: values.path,
      onProgress: sent => sent % 9600 === 0 && console.error(`  ${name}: ${sent} requests`),
    }
    return await runFuzz(options)
  } finally {
    await gateway.end('SIGTERM')
    await backend.stop()
    remove()
  }
}

async function signIn(internal: string, side: string, token: string): Promise<string> {
  const path = `/operations/v1/${side}/login`
  return (await call(internal, { method: 'POST', path, token, body: { user_id: `${side}-1` } })).json().data.token
}

function report(name: string, seconds: number, result: FuzzResult): void {
  const { sent, forwarded, refused, served, seed, violation } = result
  const rate = Math.round(sent / seconds)
  console.log(`${name}: ${sent} requests in ${Math.round(seconds)} s (${rate}/s), seed ${seed}`)
  console.log(`  forwarded ${forwarded}, refused ${refused}, answered by the gateway itself ${served}`)
  console.log(`  violations ${violation === null ? 0 : 1}`)
  if (violation !== null) console.log(violation)
}

function reportSequences(name: string, seconds: number, { sequences, steps, seed, ...found }: SequenceResult): void {
  console.log(`${name}: ${steps} steps in ${sequences} sequences in ${Math.round(seconds)} s, seed ${seed}`)
  const seen = Array.from(found.seen, ([outcome, times]) => `${outcome} ${times}`).sort()
  console.log(`  ${seen.join(', ')}`)
  console.log(`  violations ${found.violation === null ? 0 : 1}`)
  if (found.violation !== null) console.log(found.violation)
}

async function run(name: string): Promise<string | null> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const sequences = SEQUENCES[name]
  if (sequences === undefined) {
    const result = await fuzz(name, Number(values.requests) * RUNS[name]!.share)
    report(name, seconds(), result)
    return result.violation
  }
  const seed = values.seed === undefined ? undefined : Number(values.seed)
  const result = await sequences.check({
    sequences: Number(values.sequences) * sequences.times,
    seed,
    path: values.path,
  })
  reportSequences(name, seconds(), result)
  return result.violation
}

const MISSING: Readonly<Record<string, string | false>> = { nginx: withoutNginx, 'journal-redis': withoutRedis }

if (values.help) {
  console.log(HELP)
} else {
  for (const name of values.only === undefined ? [...Object.keys(RUNS), ...Object.keys(SEQUENCES)] : [values.only]) {
    const missing = MISSING[name] ?? false
    if (missing !== false) console.log(`${name}: ${missing}`)
    else if ((await run(name)) !== null) process.exitCode = 1
  }
}
