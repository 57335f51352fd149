import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import type { Test } from 'tap'
import { createHashAccounts, type HashAccount, type HashSource } from '../../src/account/hash-accounts.ts'
import type { Account } from '../../src/account/source.ts'
import type { Clock } from '../../src/base/clock.ts'
import { sealingKey } from '../../src/second-factor/sealed.ts'
import { createSecondFactors, type SecondFactorSettings } from '../../src/second-factor/second-factors.ts'
import type { LoginType } from '../../src/session/sides.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import type { Store } from '../../src/store/store.ts'
import { clockOf } from '../support/clock.ts'
import { account } from '../support/login-fixture.ts'
import { PATIENCE } from '../support/until.ts'

export const MINUTE = 60_000
export const KEY = sealingKey('0f'.repeat(16) + 'c4'.repeat(16), '')

/** What an authenticator app shows for a secret at a time; `steps` later or earlier. */
export const codeAt = (secret: string, now: number, steps = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: now + steps * 30_000 })

/** A code that is not accepted at this time. */
export function wrongCode(secret: string, now: number): string {
  return wrongCodes(secret, now, 1)[0]!
}

/** Different codes that are not accepted at this time. */
export function wrongCodes(secret: string, now: number, count: number): string[] {
  const accepted = [-1, 0, 1].map(steps => codeAt(secret, now, steps))
  const codes = Array.from({ length: count + accepted.length }, (_, i) => String(i).padStart(6, '0'))
  return codes.filter(code => !accepted.includes(code)).slice(0, count)
}

interface FactorFixtureOptions {
  settings?: Partial<SecondFactorSettings>
  /** Whether the source compares what it replaces, as a file does, or a database does not. */
  compares?: boolean
  stores?: readonly Store[]
}

/** Accounts in memory and their second factors, as several workers see them; a clock that the test moves. */
export async function openFactorFixture(t: Pick<Test, 'teardown'>, options: FactorFixtureOptions = {}) {
  const { settings, compares = true } = options
  const time = { now: Date.UTC(2026, 0, 31, 12) }
  const clock = clockOf(() => time.now)
  const stores = options.stores ?? (await openStores(t, clock))
  const stored = new Map<string, HashAccount>([
    ['ann', account('ann')],
    ['bob', account('bob')],
  ])
  const source: HashSource = {
    find: async name => stored.get(name) ?? null,
    findRights: async () => null,
    highestCost: () => 4,
    updates: {
      can: new Set(['second-factor'] as const),
      setPassword: async () => false,
      async setSecondFactor(id, sealed, expected) {
        const found = [...stored.values()].find(other => other.id === id)
        if (found === undefined || (compares && (found.secondFactor ?? null) !== expected)) return false
        const { secondFactor: _, ...rest } = found
        stored.set(found.username, { ...rest, ...(sealed !== null && { secondFactor: sealed }) })
        return true
      },
    },
    close: async () => undefined,
  }
  const logged: unknown[][] = []
  const log = { error: (...line: unknown[]) => void logged.push(line) }
  const memory = stores[0]!.attempts
  const passwords = { verifyPassword: async () => true }

  const workers = stores.map(({ attempts }, index) => (more: { key?: Buffer; type?: LoginType } = {}) => {
    const type = more.type ?? 'BUSINESS'
    const accounts = createHashAccounts(source, { type, passwords, memory, clock, log })
    const common = { type, accounts, attempts, clock, log, key: more.key ?? KEY, disable: 5 * MINUTE }
    return {
      index,
      find: async (name = 'ann'): Promise<Account> => (await accounts.find(name))!,
      factors: createSecondFactors({ ...common, settings: { for: 'optional', issuer: 'dualgate', ...settings } }),
    }
  })
  const [first, second] = [workers[0]!(), (workers[1] ?? workers[0])!()]

  /** Sets a factor up, and moves on to the next step, so that the code that confirmed is not the next one. */
  async function enrol(name = 'ann') {
    const { secret, sealed } = await first.factors.create(await first.find(name))
    const found = await first.find(name)
    const { recoveryCodes, update } = await first.factors.confirm(found, sealed, codeAt(secret, time.now))
    if (!(await update.store())) throw new Error('the second factor was not stored')
    time.now += 30_000
    return { secret, recoveryCodes }
  }

  return { ...first, second, worker: workers[0]!, stored, stores, time, clock, logged, enrol }
}

async function openStores(t: Pick<Test, 'teardown'>, clock: Clock): Promise<Store[]> {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-factor-'))
  const store = await openEmbeddedStore(folder, clock, PATIENCE)
  t.teardown(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  return [store]
}
