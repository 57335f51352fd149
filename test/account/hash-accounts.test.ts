import { inspect } from 'node:util'
import bcrypt from 'bcrypt'
import t from 'tap'
import { matchesHash } from '../../src/account/hash.ts'
import { createHashAccounts, type HashAccount, type HashSource } from '../../src/account/hash-accounts.ts'
import { createPasswords } from '../../src/account/password.ts'
import type { PreparedUpdate } from '../../src/account/source.ts'
import { clockOf } from '../support/clock.ts'
import { account, sourceOf } from '../support/login-fixture.ts'

const hash = (cost: number): string => bcrypt.hashSync('correct horse', cost)

/** Accounts of a source of hashes, with what was logged and the rounds of bcrypt since they were last counted. */
function open(stored: HashAccount[] | Omit<HashSource, 'findRights'>, highestCost?: () => number) {
  const logged: unknown[] = []
  let rounds = 0
  const compare = (password: string, against: string): boolean => {
    rounds += 2 ** Number(against.slice(4, 6))
    return bcrypt.compareSync(password, against)
  }
  const seen = new Map<string, { count: number; resetsAt: number }>([
    ['bcrypt-cost:BUSINESS', { count: 4, resetsAt: Number.MAX_SAFE_INTEGER }],
  ])
  const find = async (name: string) => (stored as HashAccount[]).find(({ username }) => username === name) ?? null
  const source = {
    ...(Array.isArray(stored) ? { find, close: async () => {} } : stored),
    findRights: async () => null,
    ...(highestCost !== undefined && { highestCost }),
  }
  const accounts = createHashAccounts(source, {
    type: 'BUSINESS',
    passwords: createPasswords(async (password, against, decoys) => matchesHash(password, against, decoys, compare)),
    memory: {
      read: async name => seen.get(name) ?? null,
      set: async (name, count, resetsAt) => void seen.set(name, { count, resetsAt }),
    },
    clock: clockOf(() => 0),
    log: { error: (...line: unknown[]) => void logged.push(line) },
  })
  return {
    accounts,
    logged,
    rounds: () => {
      const counted = rounds
      rounds = 0
      return counted
    },
  }
}

const cheap = account('cheap', { passwordHash: hash(4) })
const costly = account('costly', { passwordHash: hash(7) })

t.test(
  'unknown names, wrong passwords and undecryptable ones cost the same, whatever the cost of the hash',
  async t => {
    const { accounts, rounds } = open([cheap, costly], () => 7)
    for (const name of ['cheap', 'costly', 'unknown']) {
      for (const password of ['wrong', '', null, 'x'.repeat(73)]) {
        t.equal(await accounts.verify(await accounts.find(name), password), false)
        t.equal(rounds(), 2 ** 7, `${name} ${password}`)
      }
    }
  },
)

t.test(
  'if accounts are read one at a time, an unknown name costs as much as the most expensive account so far',
  async t => {
    const { accounts, rounds } = open([cheap, costly])
    for (const [name, cost] of [
      ['unknown', 4],
      ['costly', 7],
      ['unknown', 7],
      ['cheap', 7],
    ] as const) {
      t.equal(await accounts.verify(await accounts.find(name), 'wrong'), false)
      t.equal(rounds(), 2 ** cost, name)
    }
  },
)

t.test('verification of an account from another source fails, at the usual cost', async t => {
  const { accounts, rounds } = open([cheap], () => 5)
  t.equal(await accounts.verify({ ...cheap }, 'correct horse'), false)
  t.equal(rounds(), 2 ** 5)
})

t.test(
  'a stored password that is not a bcrypt hash never matches, and is reported by login id, without its text',
  async t => {
    const { accounts, logged } = open([account('plain', { passwordHash: 'correct horse' })], () => 4)
    t.equal(await accounts.verify(await accounts.find('plain'), 'correct horse'), false)
    t.match(logged, [[{ type: 'BUSINESS', login_id: 'id-plain' }, /not stored as a bcrypt hash of cost 4 to 15/]])
    t.notMatch(inspect(logged), /correct horse/)
  },
)

t.test('a change announces the versions that the account has once it is stored', async t => {
  const { accounts } = open(sourceOf([account('ann', { secondFactorResetAt: '2026-01-01 00:00:00' })]))
  const before = (await accounts.find('ann'))!
  const versions = ({ version, credentialVersion }: Omit<PreparedUpdate, 'store'>) => ({ version, credentialVersion })

  const factor = accounts.updates!.secondFactor(before, 'abcdefghijkl.sealed')
  t.ok(await factor.store())
  const withFactor = (await accounts.find('ann'))!
  t.same(versions(factor), versions(withFactor))
  t.equal(withFactor.credentialVersion, before.credentialVersion, 'keys survive a second factor of their own user')

  const update = { password: 'battery staple', changedAt: 0, mustChange: false }
  const password = await accounts.updates!.password(withFactor, update)
  t.ok(await password.store())
  const after = (await accounts.find('ann'))!
  t.same(versions(password), versions(after))
  t.not(after.credentialVersion, before.credentialVersion)
})
