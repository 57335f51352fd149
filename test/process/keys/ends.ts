import bcrypt from 'bcrypt'
import type { Test } from 'tap'
import type { MadeKey } from '../../../src/key/keys.ts'
import { call } from '../../support/client.ts'
import { HASH, type WrittenAccount } from '../../support/keys.ts'
import { until } from '../../support/until.ts'
import type { WorkerClient } from '../../support/worker-clients.ts'
import { codeOf, connected, ECHO, KEYS, type KeyPlace, tokenFor, type User } from './place.ts'
import { comesSoon, giveUp } from './soon.ts'

/* What ends a key, or refuses it for a while, is known to every worker of every gateway within a second. */

type Happen = (place: KeyPlace, user: User, made: MadeKey) => unknown

/** Milliseconds: the law. */
const SECOND = 1000

/** Has the account of a user replaced by what is made of it; `null` for none. */
const changed =
  (make: (account: WrittenAccount) => object | null): Happen =>
  ({ editAccounts }, { id }) =>
    editAccounts(accounts =>
      accounts.flatMap(account => (account.id === id ? ((make(account) as WrittenAccount) ?? []) : account)),
    )

const FOR_GOOD: Readonly<Record<string, Happen>> = {
  'its user revokes it': ({ post }, { token }, { id }) => post('b/account/keys/revoke', { id }, token),
  'an administrator revokes it': ({ post }, user, { id }) => post('sys/key/revoke', { user_id: user.id, id }),
  'the command line revokes it': ({ command }, user, { id }) => command('key', 'revoke', user.id, id),
  'an administrator resets the password': ({ post }, { id }) => post('sys/account/reset-password', { id }),
  'an administrator resets the second factor': (place, user, made) => {
    // A factor that its user has set up ends no key.
    changed(account => ({ ...account, second_factor: `${'f'.repeat(12)}.sealed` }))(place, user, made)
    return place.post('sys/account/reset-second-factor', { id: user.id })
  },
  'the command line sets a password': ({ command }, { id }) => command('account', 'passwd', id, '--password-stdin'),
  'the password in the file is another one': changed(account => ({
    ...account,
    password: bcrypt.hashSync('another horse 5', 4),
  })),
  'an administrator removes the account': ({ post }, { id }) => post('sys/account/remove', { id }),
  'the command line removes the account': ({ command }, { id }) => command('account', 'remove', id),
  'the account is removed from the file': changed(() => null),
}

/** Each with what takes it back. */
const MEANWHILE: Readonly<Record<string, { happen: Happen; back: Happen; code: number }>> = {
  'an administrator makes the account INACTIVE': {
    happen: ({ post }, { id }) => post('sys/account/edit', { id, status: 'INACTIVE' }),
    back: ({ post }, { id }) => post('sys/account/edit', { id, status: 'ACTIVE' }),
    code: 401,
  },
  'the account is LOCKED in the file': {
    happen: changed(account => ({ ...account, status: 'LOCKED' })),
    back: changed(({ status: _, ...account }) => account),
    code: 401,
  },
  'a backend disables the login id': {
    happen: ({ gateways }, { id: user_id }) =>
      gateways.at(-1)!.operate('business', 'disable', { user_id, seconds: 600 }),
    back: ({ gateways }, { id: user_id }) => gateways[0]!.operate('business', 'untie-disable', { user_id }),
    code: 403,
  },
  'an administrator disables the login id': {
    happen: ({ post }, { id: user_id }) => post('sys/session/disable', { user_id, seconds: 600 }),
    back: ({ post }, { id: user_id }) => post('sys/session/untie-disable', { user_id }),
    code: 403,
  },
}

export function testEnds(t: Test, place: KeyPlace): void {
  for (const [what, happen] of Object.entries(FOR_GOOD)) {
    t.test(`${what}: a key and its token end everywhere`, async t => {
      const { user, made, tokens, kept } = await begin(place)
      await endsEverywhere(t, place, tokens, () => happen(place, user, made), 401)
      const revoked = what.includes('revokes')
      t.same(
        await place.codes(kept.key),
        place.workers.map(() => (revoked ? 200 : 401)),
        'the other key of the user',
      )
      const isListed = async () => (await listed(place, user)).flat().includes(made.id)
      await comesSoon(t, 'it leaves the list', async () => !(await isListed()))
      if (what.includes('remove')) await returns(t, place, user, tokens)
    })
  }

  for (const [what, { happen, back, code }] of Object.entries(MEANWHILE)) {
    t.test(`${what}: a key and its token are refused everywhere, until that is taken back`, async t => {
      const { user, made, tokens } = await begin(place)
      await endsEverywhere(t, place, tokens, () => happen(place, user, made), code)
      await back(place, user, made)
      for (const token of tokens) await servedSoon(t, place, token)
    })
  }

  t.test('a key that reaches its end is refused everywhere from then on, and not before', async t => {
    const user = await place.nextUser()
    for (let [lifetime, round] = [SECOND, 0]; ; lifetime *= 4, round++) {
      // Where one has not accepted it before, it is a wrong key.
      const workers = await connected(t, place, `127.0.0.${80 + round}`)
      const asked = Date.now()
      const { key, expiresAt } = await place.addKey(user.id, { lifetime })
      const [first, last] = [asked + lifetime, Date.now() + lifetime]
      t.ok(first <= expiresAt && expiresAt <= last, 'it has the end that was asked for')
      if (await isServedUntil(t, workers, key, [expiresAt, expiresAt])) return
    }
  })

  testKept(t, place)
}

/** What leaves a key as it is. */
function testKept(t: Test, place: KeyPlace): void {
  t.test('kickout, a lockout by wrong passwords and the own password change leave keys everywhere', async t => {
    const { user, tokens } = await begin(place)
    const { id, token } = user
    const asOwn = (path: string, body: object) =>
      call(place.gateways.at(-1)!.url, { method: 'POST', path, body, token, localAddress: '127.0.0.76' })
    const live = async () => new Set((await Promise.all(tokens.map(one => place.codes(one)))).flat())

    const change = { current_password: place.password, new_password: place.encrypted('another horse 3') }
    const known = readsOf(place)
    t.match((await asOwn('/api/v1/b/account/password', change)).json(), { code: 200 })
    const found = new Set<number>()
    await until(async () => {
      for (const code of await live()) found.add(code)
      return readsOf(place).every((reads, i) => reads > known[i]!)
    })
    t.same([...found, ...(await live())], [200, 200], 'while and after each worker read the new password')

    for (let i = 0; i < 5; i++) await asOwn(`${KEYS}/add`, { name: 'x', current_password: place.password })
    const locked = await asOwn(`${KEYS}/add`, { name: 'x', current_password: change.new_password })
    t.match(locked.json(), { code: 403, message: /disabled/i }, 'logins are locked')
    t.same(await live(), new Set([200]))
    await place.gateways[0]!.operate('business', 'kickout', { user_id: id })
    t.same(new Set(await place.codes(token)), new Set([401]))
    t.same(await live(), new Set([200]))
  })
}

/** How often each worker has read the changed accounts file. */
const readsOf = ({ workers }: KeyPlace): number[] =>
  workers.map(
    ({ gateway, pid }) => gateway.logged('the accounts were read again').filter(line => line.pid === pid).length,
  )

/** A user with a key that every worker remembers, and an access token for it; and another key. */
async function begin(place: KeyPlace) {
  const user = await place.nextUser()
  const [made, kept] = [await place.addKey(user.id), await place.addKey(user.id)]
  const tokens = [made.key, await tokenFor(place.next(), made)]
  for (const token of [...tokens, kept.key]) await expectLive(place, token)
  return { user, made, kept, tokens }
}

async function expectLive({ codes }: KeyPlace, token: string): Promise<void> {
  const found = await codes(token)
  if (found.some(code => code !== 200)) throw new Error(`a live key is refused: ${found}`)
}

/** An end that happens while credentials are used at every worker: within a second each refuses them with a code. */
export async function endsEverywhere(
  t: Test,
  place: KeyPlace,
  tokens: string[],
  happen: () => unknown,
  code: number,
  path?: string,
): Promise<void> {
  let [acknowledged, late, slowest] = [Number.POSITIVE_INFINITY, 0, 0]
  const gaveUp = giveUp()
  // A machine that answers late notices late.
  const limit = () => 5 * SECOND + 2 * slowest
  const ended = Promise.resolve(happen()).then(() => {
    acknowledged = performance.now()
  })
  const isOver = until(async () => {
    const sent = performance.now()
    const found = (await Promise.all(tokens.map(token => place.codes(token, path)))).flat()
    slowest = Math.max(slowest, performance.now() - sent)
    if (found.every(one => one === code)) return acknowledged < sent
    late = Math.max(late, sent - acknowledged)
    return gaveUp() && late > limit()
  })
  await Promise.race([ended.then(() => isOver), isOver])
  const about = `a use sent ${Math.round(late)} ms after it was answered otherwise than ${code}`
  t.ok(late <= limit(), `${about}, of at most ${Math.round(limit())}`)
}

/** A key is served again by every worker. */
export const servedSoon = (t: Test, place: KeyPlace, key: string, path?: string): Promise<void> =>
  comesSoon(t, 'each worker serves it', async () => (await place.codes(key, path)).every(code => code === 200))

/** The keys of a user that administrators see at each worker. */
const listed = async (place: KeyPlace, { id }: User): Promise<string[][]> => {
  const path = `/api/v1/sys/key/page?user_id=${id}`
  const pages = await place.everywhere({ path, token: place.chief })
  return pages.map(page => page.json().data.records.map(({ id }: MadeKey) => id))
}

/** An account that comes back revives no key. */
async function returns(t: Test, place: KeyPlace, { id }: User, tokens: readonly string[]): Promise<void> {
  place.editAccounts(accounts => [...accounts, { id, username: id, password: HASH }])
  const { key } = await place.addKey(id)
  await servedSoon(t, place, key)
  for (const token of tokens)
    t.same(
      await place.codes(token),
      place.workers.map(() => 401),
    )
}

/**
 * Uses a key at some workers until it has ended, between two times. Answers `false` if that proves nothing: if a busy machine has
 * not let each of them accept it before.
 */
export async function isServedUntil(
  t: Test,
  workers: readonly WorkerClient[],
  key: string,
  [first, last]: [number, number],
): Promise<boolean> {
  const accepted = new Set<number>()
  const wrong: string[] = []
  await until(async () => {
    const sent = Date.now()
    const codes = await Promise.all(workers.map(async worker => codeOf(await worker.call({ path: ECHO, token: key }))))
    const answered = Date.now()
    for (const [i, code] of codes.entries()) {
      if (code === 200) accepted.add(i)
      if (code === 200 ? sent > last : answered < first) wrong.push(`${code} at ${sent} to ${answered}`)
    }
    return sent > last
  })
  t.same(wrong, [], `its end is between ${first} and ${last}`)
  return wrong.length > 0 || accepted.size === workers.length
}
