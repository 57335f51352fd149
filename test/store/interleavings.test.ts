import t from 'tap'
import { LOGIN_TYPES } from '../../src/session/sides.ts'
import { createAges } from '../../src/store/age.ts'
import { RedisSessions } from '../../src/store/redis/sessions/sessions.ts'
import { fc } from '../support/random.ts'
import { type Act, printAct, type Verbs } from './interleavings/acts.ts'
import { explore, walk } from './interleavings/explorer.ts'
import { type Build, Fixture } from './interleavings/fixture.ts'
import { SESSIONS } from './interleavings/laws.ts'
import { BatchOutOfSetFirst, BlindRenewal, DeletedSet, SetBeforeRecord } from './interleavings/wrong-orders.ts'

const LONG = 60_000
const LONGER = 90_000
const SHORT = 20_000
/**
 * Renewals see from a token's end whether another renewal came between: no two here choose the same end, to the
 * millisecond, for the same token.
 */
const APART = 10
const RUNS = 2000

const mine = { type: 'BUSINESS', user: 'u' } as const
const login = (token: string, lifetime = LONG): Act => ({ verb: 'login', ...mine, token, lifetime })
const rewrite = (token: string): Act => ({ verb: 'rewrite', ...mine, token })
const renew = (token: string, lifetime: number): Act => ({ verb: 'renew', ...mine, token, lifetime })
const logout = (token: string): Act => ({ verb: 'logout', ...mine, token })
const kickout: Act = { verb: 'kickout', ...mine }
const endOthers = (token: string): Act => ({ verb: 'end-others', ...mine, token })
const list: Act = { verb: 'list', ...mine }
const untie: Act = { verb: 'untie', ...mine }
const disable: Act = { verb: 'disable', ...mine, lifetime: LONG }

const AGES = createAges()
const subject = SESSIONS
const right: Build<Verbs> = (redis, keys, clock) => new RedisSessions(redis, keys, clock, undefined, AGES)

const wrong =
  (Orders: typeof RedisSessions): Build<Verbs> =>
  (redis, keys, clock) =>
    new Orders(redis, keys, clock, undefined, AGES)

/** What has happened before, and what happens at once. */
const PAIRS: [string, Act[], Act, Act][] = [
  ['login × kickout, of a user without a session', [], login('a'), kickout],
  ['login × kickout, of a user with one', [login('a')], login('b'), kickout],
  ['login × kickout, of a user with several', [login('a'), login('b', LONGER)], login('c'), kickout],
  ['login × disable', [], login('a'), disable],
  ['login × untie', [disable], login('a'), untie],
  ['login × login', [], login('a'), login('b', LONGER)],
  ['login × logout', [login('a')], login('b'), logout('a')],
  ['login × renewal to a shorter life', [login('a')], login('b', SHORT), renew('a', SHORT)],
  ['login × list', [], login('a'), list],
  ['login × end of all others', [login('a'), login('b')], login('c'), endOthers('a')],
  ['end of all others × end of all others', [login('a'), login('b')], endOthers('a'), endOthers('b')],
  ['end of all others × logout of the spared', [login('a'), login('b')], endOthers('a'), logout('a')],
  ['end of all others × renewal of the spared', [login('a'), login('b')], endOthers('b'), renew('b', SHORT)],
  ['kickout × kickout', [login('a'), login('b')], kickout, kickout],
  ['kickout × logout', [login('a')], kickout, logout('a')],
  ['kickout × list', [login('a')], kickout, list],
  ['logout × logout', [login('a')], logout('a'), logout('a')],
  ['logout × renewal', [login('a')], logout('a'), renew('a', LONGER)],
  ['logout × list', [login('a'), login('b')], logout('a'), list],
  ['rewriting × kickout', [login('a')], rewrite('a'), kickout],
  ['rewriting × logout', [login('a')], rewrite('a'), logout('a')],
  ['rewriting × renewal', [login('a')], rewrite('a'), renew('a', LONGER)],
  ['rewriting × rewriting', [login('a')], rewrite('a'), rewrite('a')],
  ['renewal × kickout', [login('a')], renew('a', LONGER), kickout],
  ['renewal to a shorter life × kickout', [login('a')], renew('a', SHORT), kickout],
  ['renewal × longer renewal', [login('a')], renew('a', SHORT), renew('a', LONGER)],
  ['renewal × shorter renewal', [login('a', LONGER)], renew('a', SHORT), renew('a', LONG)],
  ['renewal × renewal of another token', [login('a'), login('b')], renew('a', SHORT), renew('b', LONGER)],
]

t.test('two verbs at once keep the laws, in every order and with every fault at every step', async t => {
  for (const [name, before, one, other] of PAIRS) {
    const { states, violation } = await explore({ subject, build: right, before, actors: [[one], [other]], faults: 1 })
    t.equal(violation?.join('\n') ?? null, null, `${name}: ${states} states`)
  }
})

/** More at once than every fault can be tried with. */
const TRIPLES: [string, Act[], Act[][]][] = [
  ['three renewals', [login('a')], [[renew('a', SHORT)], [renew('a', LONGER)], [renew('a', LONG + APART)]]],
  ['login, logout × kickout', [], [[login('a'), logout('a')], [kickout]]],
  ['renewal × disable, kickout × untie', [login('a')], [[renew('a', SHORT)], [disable, kickout], [untie]]],
]

t.test('more verbs at once keep the laws, in every order', async t => {
  for (const [name, before, actors] of TRIPLES) {
    const { states, violation } = await explore({ subject, build: right, before, actors, faults: 0 })
    t.equal(violation?.join('\n') ?? null, null, `${name}: ${states} states`)
  }
})

const WRONG: [string, Build<Verbs>, Act[], Act, Act][] = [
  ['a login that adds to the set before it writes the record', wrong(SetBeforeRecord), [], login('a'), kickout],
  ['a kickout that deletes the set, a login without barriers', wrong(DeletedSet), [], login('a'), kickout],
  [
    'a kickout by batches that leave the set first',
    wrong(BatchOutOfSetFirst),
    [login('a'), login('b')],
    login('c'),
    kickout,
  ],
  ['a renewal that looks at no other', wrong(BlindRenewal), [login('a')], renew('a', SHORT), renew('a', LONGER)],
]

t.test('the proofs find the faults of wrong orders', async t => {
  for (const [name, build, before, one, other] of WRONG) {
    const { violation } = await explore({ subject, build, before, actors: [[one], [other]], faults: 1 })
    t.match(violation?.at(-1), /^P\d: /, name)
    t.comment(`${name}, the shortest way to break a law:\n${violation?.join('\n')}`)
  }
})

const user = fc.record({ type: fc.constantFrom(...LOGIN_TYPES), user: fc.constantFrom('u', 'u', 'u', 'v') })
const lifetime = fc.constantFrom(SHORT, LONG, LONGER)
/** Tokens are drawn from few, so that acts meet; a login gets one of its own below. */
const anyAct: fc.Arbitrary<Act> = fc
  .oneof(
    { arbitrary: fc.tuple(fc.constant('login'), user, lifetime), weight: 4 },
    { arbitrary: fc.tuple(fc.constantFrom('renew', 'logout', 'end-others'), user, lifetime), weight: 5 },
    { arbitrary: fc.tuple(fc.constantFrom('kickout', 'untie', 'list', 'disable', 'wait'), user, lifetime), weight: 4 },
  )
  .chain(([verb, of, lifetime]) => fc.nat(5).map(token => ({ verb, ...of, token: `t${token}`, lifetime }) as Act))

const troupe = fc.array(fc.array(anyAct, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 4 })

const HANDED_OUT: Act[] = [login('t0'), login('t1', LONGER), { ...login('t2'), type: 'CONSUMER' } as Act]

/** No token is handed out twice: logins are numbered, and the other acts take what the first ones got. Ends are apart. */
function numbered(actors: Act[][]): Act[][] {
  let issued = HANDED_OUT.length
  let ends = 0
  const number = (act: Act): Act => {
    if (act.verb === 'login') return { ...act, token: `t${issued++}`, lifetime: act.lifetime + APART * ++ends }
    if (act.verb === 'renew') return { ...act, lifetime: act.lifetime + APART * ++ends }
    return act
  }
  return actors.map(acts => acts.map(number))
}

t.test('any number of verbs keeps the laws, in any order, with up to three faults', async t => {
  const choices = fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 })
  const property = fc.asyncProperty(troupe, choices, async (actors, choices) => {
    const violation = await walk(
      { subject, build: right, before: HANDED_OUT, actors: numbered(actors), faults: 3 },
      choices,
    )
    if (violation !== null) throw new Error(violation.join('\n'))
  })
  await fc.assert(property, { numRuns: RUNS })
  t.pass(`${RUNS} ways`)
})

const TWICE: [Act[], Act][] = [
  [[], login('a')],
  [[login('a')], renew('a', LONGER)],
  [[login('a')], renew('a', SHORT)],
  [[login('a')], logout('a')],
  [[login('a'), login('b')], kickout],
  [[login('a'), login('b')], endOthers('b')],
  [[], disable],
  [[disable], untie],
  [[login('a')], list],
]

t.test('P8: every operation is idempotent', async t => {
  for (const [before, act] of TWICE) {
    const [once, twice] = await Promise.all([[act], [act, act]].map(acts => leftBy([...before, ...acts])))
    t.same(twice, once, printAct(act))
  }
})

/** What is in Redis after some acts: keys, values and ends, but for the count of kickouts and a hair of time. */
async function leftBy(acts: Act[]): Promise<string[]> {
  const fixture = new Fixture({ subject, build: right, before: acts, actors: [], faults: 0 })
  await fixture.open()
  const { redis } = fixture
  return redis
    .keys()
    .filter(key => !key.includes(':kicked:'))
    .map(key => {
      const { value, endsAt } = redis.entry(key)!
      return `${key} ${typeof value === 'string' ? value : [...value]} ${Math.round((endsAt - redis.now) / SHORT)}`
    })
}
