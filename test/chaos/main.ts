import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { withoutRedisServer } from '../support/redis-server.ts'
import { embedded } from './embedded-setup.ts'
import { endWhileUsed } from './interleavings.ts'
import { clusterRedis, sentinelRedis, singleRedis } from './redis-setups.ts'
import { reloadUnderLoad } from './reloads.ts'
import { type ChaosReport, runChaos } from './run.ts'
import type { Setup } from './setup.ts'
import { measureSlowClients, withoutSlowhttptest } from './slow-clients.ts'

const HELP = `npm run chaos -- [options]
  Injects faults into a gateway of two workers under a light load of requests, logins, kickouts, ends of own sessions and
  disables, and judges everything that was answered: nothing is accepted without a live session, no client gets 401 because
  of a fault of ours, and everything works again two seconds after the fault. Meanwhile people sign in with their accounts and
  second factors, and they, an administrator, the command line and an editor change these, and add and remove accounts: no
  older session is accepted after a change, nor after a repeated one that failed before, no change is lost, one code and one
  ticket come to one token, and every login is in the journal once.
  Then holds 1100 connections of slow clients (slowhttptest, in each of its modes), and reports which part of the
  requests of a normal client were answered: all have to be.
  Then ends 100 000 sessions while requests use them, and reports how many were served later than promised.
  Then reloads a gateway on Redis again and again beside a busy core: of 20 000 requests none fails.
  A busy machine may make recoveries slow: what it withheld from the test since the end of a fault is added to the two
  seconds, and nothing else is excused. Ends with exit code 1 if anything was violated.
    --setup embedded|redis|sentinel|cluster|slow-clients|interleavings|reloads
    --only TEXT             one of the setups above, or faults or modes with this in their names
    --rounds 1
    --failovers 20          so many failovers and nothing else; in every second one workers die beside the master
    --gateway FOLDER        another build of the gateway, to compare; with slow-clients also nginx`

const SLOW_CLIENTS = 'slow-clients'
const INTERLEAVINGS = 'interleavings'
const RELOADS = 'reloads'
/** Runs without faults of a store. */
const OTHERS: readonly string[] = [SLOW_CLIENTS, INTERLEAVINGS, RELOADS]
/** Requests during reloads. */
const RELOADED_REQUESTS = 20_000
/** Sessions that end while requests use them. */
const ENDS = { one: 30_000, two: 70_000 }

const SETUPS: Readonly<Record<string, () => Promise<Setup> | Setup>> = {
  embedded,
  redis: singleRedis,
  sentinel: sentinelRedis,
  cluster: clusterRedis,
}

const { values } = parseArgs({
  options: {
    setup: { type: 'string' },
    only: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    failovers: { type: 'string' },
    gateway: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

function report({ setup, requests, operations, failed, late, faults, violations, log, ...people }: ChaosReport): void {
  console.log(`${setup}: ${requests} requests, ${operations} operations, ${faults.length} faults`)
  const longest = Math.max(0, ...faults.map(({ recovery }) => recovery))
  console.log(
    `  failed ${failed}, ${people.excused} of them excused, late within the heartbeat ${late}, longest recovery ${Math.round(longest)} ms`,
  )
  console.log(`  logins in the journal ${people.journaled}, codes ${people.codes}, required changes ${people.required}`)
  const { changes, repeated, commands, saves, lost } = people
  console.log(`  changes of accounts ${changes}, ${repeated} of them repeated, by command line ${commands}`)
  console.log(`  changes by an editor ${saves}, lost ${lost}`)
  for (const { name, seconds, failed, recovery } of faults) {
    console.log(`  ${name}: ${seconds.toFixed(1)} s, ${failed} failed, recovered after ${Math.round(recovery)} ms`)
  }
  const isSlow = (violation: string): boolean => / failed \d+ ms after the end of/.test(violation)
  const slow = violations.filter(isSlow)
  const [stalled, withheld] = [people.stalled, people.withheld].map(Math.round)
  console.log(`  the machine stalled the test for up to ${stalled} ms, and withheld ${withheld} ms altogether`)
  console.log(`  violations ${violations.length}, ${slow.length} of them slow recoveries`)
  for (const [first, count] of kindsOf([...violations.filter(violation => !isSlow(violation)), ...slow]))
    console.log(`    ${count} times: ${first}`)
  if (violations.length > 0) {
    const file = join(mkdtempSync(join(tmpdir(), 'dualgate-chaos-')), 'gateway.log')
    writeFileSync(file, log)
    console.log(`  the log of the gateway: ${file}`)
  }
  console.log()
}

/** Violations that differ in their numbers only: the first of each kind, and how many there are. */
function kindsOf(violations: readonly string[]): Iterable<[first: string, count: number]> {
  const kinds = new Map<string, [string, number]>()
  for (const violation of violations) {
    const kind = violation.replace(/[0-9a-f]{32}|\d+/g, '#')
    const [first, count] = kinds.get(kind) ?? [violation, 0]
    kinds.set(kind, [first, count + 1])
  }
  return kinds.values()
}

if (values.help) {
  console.log(HELP)
} else {
  const isSetup = values.only !== undefined && (values.only in SETUPS || OTHERS.includes(values.only))
  const setup = values.setup ?? (isSetup ? values.only : undefined)
  const only = isSetup ? undefined : values.only
  if (setup !== undefined && !(setup in SETUPS) && !OTHERS.includes(setup)) throw new Error(`unknown setup ${setup}`)
  const failovers = values.failovers === undefined ? undefined : Number(values.failovers)
  const totals: string[] = []
  const began = performance.now()
  for (const name of setup === undefined ? Object.keys(SETUPS) : setup in SETUPS ? [setup] : []) {
    if (name !== 'embedded' && withoutRedisServer !== false) {
      console.log(`${name}: ${withoutRedisServer}\n`)
      continue
    }
    const rounds = Number(values.rounds)
    const result = await runChaos(SETUPS[name]!, { rounds, only, failovers, gateway: values.gateway })
    report(result)
    totals.push(`${name}: ${rounds} rounds, ${result.faults.length} faults, ${result.violations.length} violations`)
    if (result.violations.length > 0) process.exitCode = 1
  }
  const isWhole = setup === undefined && failovers === undefined
  if (isWhole || setup === SLOW_CLIENTS) await reportSlowClients(values.gateway, only)
  if (isWhole || setup === INTERLEAVINGS) await reportInterleavings()
  if (isWhole || setup === RELOADS) await reportReloads()
  for (const line of totals) console.log(line)
  const minutes = ((performance.now() - began) / 60_000).toFixed(1)
  console.log(`${process.exitCode === 1 ? 'VIOLATED' : 'nothing was violated'}, after ${minutes} minutes`)
}

async function reportSlowClients(gateway: string | undefined, only: string | undefined): Promise<void> {
  console.log(`${SLOW_CLIENTS}: ${withoutSlowhttptest || 'requests of a normal client that were answered'}`)
  if (withoutSlowhttptest !== false) return
  for await (const { mode, asked, answered, slowest } of measureSlowClients(gateway, only)) {
    const percent = ((100 * answered) / asked).toFixed(1)
    console.log(`  ${mode}: ${percent} % of ${asked}, the slowest in ${Math.round(slowest)} ms`)
    if (answered < asked) process.exitCode = 1
  }
}

async function reportInterleavings(): Promise<void> {
  console.log(`${INTERLEAVINGS}: ${withoutRedisServer || 'sessions that ended while requests used them'}`)
  if (withoutRedisServer !== false) return
  for (const [processes, count] of [
    [1, ENDS.one],
    [2, ENDS.two],
  ] as const) {
    const { interleavings, late, revived } = await endWhileUsed(count, processes)
    console.log(`  ${processes} processes: ${interleavings}, of which ${late} were served late and ${revived} revived`)
    if (late + revived > 0) process.exitCode = 1
  }
}

async function reportReloads(): Promise<void> {
  console.log(`${RELOADS}: ${withoutRedisServer || 'reloads on Redis under load, beside a busy core'}`)
  if (withoutRedisServer !== false) return
  const { requests, reloads, failures, refused } = await reloadUnderLoad(RELOADED_REQUESTS)
  console.log(`  ${reloads} reloads, ${refused.length} refused; ${failures.length} of ${requests} requests failed`)
  for (const [first, count] of kindsOf([...failures, ...refused])) console.log(`    ${count} times: ${first}`)
  if (failures.length + refused.length > 0) process.exitCode = 1
}
