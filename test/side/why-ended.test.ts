import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import { createTimestampFormat } from '../../src/base/timestamp.ts'
import type { SessionEvent } from '../../src/event/event.ts'
import { admit } from '../../src/gate/live-session.ts'
import type { Verdict } from '../../src/gate/rules.ts'
import { createSigner } from '../../src/http/jwt.ts'
import { createSide, type SideOptions } from '../../src/side/side.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { EndedSome, type SessionStore } from '../../src/store/store.ts'
import type { Token } from '../../src/token/bearer.ts'
import { createJwt } from '../../src/token/jwt.ts'
import { ruleNumbered } from '../support/gate-rules.ts'
import { PATIENCE } from '../support/until.ts'

/* When the reason of an end is read from the store, and what a session limit does beside the end of all others, and at logins at once. */

const signer = await createSigner({ secret_key: 'fb9e2d3f6a1c4c0e8f7a5b6d7c8e9f00', algorithm: 'HS256' })
const POLICY = { max_tokens_per_user: 0, per_device: false, auto_renew: 'off', idle_timeout: 'off' } as const
const VERDICT: Verdict = { rule: ruleNumbered(5), need: 'BUSINESS' }

/** A side over a store of which a test replaces verbs. */
async function openSide(t: Test, verbs: Partial<SessionStore>, options: Partial<SideOptions> = {}) {
  const store = await openEmbeddedStore(t.testdir(), systemClock, PATIENCE)
  t.teardown(() => store.close())
  const sessions = new Proxy<SessionStore>(store.sessions, {
    get: (target, name: keyof SessionStore) => verbs[name] ?? (target[name] as () => unknown).bind(target),
  })
  const side = createSide({
    type: 'BUSINESS',
    jwt: createJwt(signer, 'HS256', systemClock),
    store: sessions,
    attempts: store.attempts,
    clock: systemClock,
    timestamps: createTimestampFormat('UTC'),
    expireSeconds: 3600,
    tokenName: 'Authorization',
    enforceDisable: false,
    tellEnd: 3_600_000,
    policy: POLICY,
    publish: () => undefined,
    ...options,
  })
  const login = () => side.login(undefined, 'u', {}, {})
  const decide = async (token: Token) => admit(VERDICT, token, { BUSINESS: side, CONSUMER: side })
  return { side, store, login, decide }
}

/** How a decision was refused. */
const refusalOf = (decision: Promise<unknown>): Promise<unknown> =>
  decision.then(
    () => null,
    fault => fault,
  )

t.test('the reason is read only after the store has answered that there is no session', async t => {
  let questions = 0
  const { side, store, login, decide } = await openSide(t, {
    whyEnded: (type, token) => {
      questions++
      return store.sessions.whyEnded(type, token)
    },
  })
  const token = await login()
  for (let i = 0; i < 3; i++) t.match(await decide(token), { record: { user_id: 'u' } })
  t.equal(questions, 0, 'accepted requests cost nothing')
  await side.kickout('u', {})
  t.match(await refusalOf(decide(token)), { reason: 'NOT_LOGGED_IN', data: { ended: 'kicked-out' } })
  t.equal(questions, 1)
  t.match(await refusalOf(decide(`${token.slice(0, -4)}AAAA` as Token)), { reason: 'NOT_LOGGED_IN', data: null })
  t.equal(questions, 1, 'nor is it asked about a token with another signature')
})

t.test('if only the reason cannot be read, the request is refused as not logged in, without one', async t => {
  const away = async (): Promise<never> => {
    throw new Unavailable('the node of the reason is away')
  }
  const { side, login, decide } = await openSide(t, { whyEnded: away })
  const token = await login()
  await side.kickout('u', {})
  t.match(await refusalOf(decide(token)), { reason: 'NOT_LOGGED_IN', data: null })
})

t.test('if the session cannot be read, the store is unavailable, whatever the reason is', async t => {
  const away = async (): Promise<never> => {
    throw new Unavailable('the store is away')
  }
  const { login, decide } = await openSide(t, { find: away, whyEnded: () => 'kicked-out' })
  t.match(await refusalOf(decide(await login())), { reason: 'UNAVAILABLE' })
})

t.test('a login at the limit ends no session that became the only other one meanwhile', async t => {
  let others: (() => Promise<unknown>) | null = null
  const { side, store, login } = await openSide(
    t,
    {
      async *batches(type, userId) {
        yield* store.sessions.batches(type, userId)
        // The oldest ends all others after this login has counted the sessions, and before it ends the oldest.
        await others?.()
      },
    },
    { policy: { ...POLICY, max_tokens_per_user: 2 } },
  )
  const [oldest] = [await login(), await login()]
  const session = (await side.inspect(oldest!))!
  others = () => side.kickoutOthers(session, {})
  await login()
  t.match(await side.inspect(oldest!), { record: { user_id: 'u' } })
})

t.test('logins at once of a user at the limit do not read the sessions once for each of them', async t => {
  let walks = 0
  const { store, login, side } = await openSide(
    t,
    {
      batches(type, userId) {
        walks++
        return store.sessions.batches(type, userId)
      },
    },
    { policy: { ...POLICY, max_tokens_per_user: 2 } },
  )
  for (let i = 0; i < 2; i++) await login()
  const tokens = await Promise.all(Array.from({ length: 20 }, login))
  t.ok(walks < 10, `${walks} times for 20 logins`)
  const live = await Promise.all(tokens.map(token => side.inspect(token)))
  t.equal(live.filter(session => session !== null).length, 2)
})

t.test('a kickout is published also where the store fails behind the end of some sessions', async t => {
  const events: SessionEvent[] = []
  const publish = (event: SessionEvent) => void events.push(event)
  const fail = async () => {
    throw new EndedSome(2, new Unavailable('the store of this test'))
  }
  const { side, login } = await openSide(t, { removeAll: fail, removeOthers: fail }, { publish })
  const session = (await side.inspect(await login()))!
  for (const end of [() => side.kickout('u', {}), () => side.kickoutOthers(session, {})]) {
    events.length = 0
    await t.rejects(end(), Unavailable)
    t.match(events, [{ event: 'kickout', login_id: 'u', ended: 2 }])
  }
})
