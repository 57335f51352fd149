import t from 'tap'
import type { CredentialStore } from '../../src/store/credentials.ts'
import { RedisCredentials } from '../../src/store/redis/credentials/credentials.ts'
import { fc } from '../support/random.ts'
import type { Wait } from './interleavings/acts.ts'
import type { CredentialAct } from './interleavings/credential-acts.ts'
import { CREDENTIALS, OWNER } from './interleavings/credential-laws.ts'
import { explore, walk } from './interleavings/explorer.ts'
import type { Build } from './interleavings/fixture.ts'
import {
  BlindRewriting,
  BlindSuccession,
  EndOfOneLook,
  ListBeforeRecord,
  OutOfListFirst,
  RecordBeforeList,
} from './interleavings/wrong-credential-orders.ts'

const LONG = 90_000
const OVERLAP = 20_000
const RUNS = 2000

const subject = CREDENTIALS
const build: Build<CredentialStore> = (redis, keys, clock) => new RedisCredentials(redis, keys, clock)

const add = (id: string, lifetime = LONG): CredentialAct => ({ verb: 'add', ...OWNER, id, lifetime })
const succeed = (id: string, next: string): CredentialAct => ({
  verb: 'succeed',
  ...OWNER,
  id,
  next,
  lifetime: LONG,
  overlap: OVERLAP,
})
const remove = (id: string): CredentialAct => ({ verb: 'remove', ...OWNER, id })
const rewrite = (id: string): CredentialAct => ({ verb: 'rewrite', ...OWNER, id })
const removeAll: CredentialAct = { verb: 'remove-all', ...OWNER }
const list: CredentialAct = { verb: 'list', ...OWNER }

/** What has happened before, and what happens at once. */
const PAIRS: [string, CredentialAct[], CredentialAct, CredentialAct][] = [
  ['add × add, for the last place', [add('a')], add('b'), add('c')],
  ['add × add, in the place of one that has ended', [add('a', 1), add('b')], add('c'), add('d')],
  ['add × end of all, of an owner without any', [], add('a'), removeAll],
  ['add × end of all, of an owner with one', [add('a')], add('b'), removeAll],
  ['add × list', [add('a')], add('b'), list],
  ['add × its removal', [], add('a'), remove('a')],
  ['add × removal, for the last place', [add('a'), add('b')], add('c'), remove('a')],
  ['add × succession, for the last place', [add('a')], add('b'), succeed('a', 'c')],
  ['succession × removal', [add('a')], succeed('a', 'b'), remove('a')],
  ['succession × removal of the next', [add('a')], succeed('a', 'b'), remove('b')],
  ['succession × end of all', [add('a')], succeed('a', 'b'), removeAll],
  ['succession × rewriting', [add('a')], succeed('a', 'b'), rewrite('a')],
  ['succession × list', [add('a')], succeed('a', 'b'), list],
  ['rewriting × rewriting', [add('a')], rewrite('a'), rewrite('a')],
  ['rewriting × removal', [add('a')], rewrite('a'), remove('a')],
  ['rewriting × end of all', [add('a')], rewrite('a'), removeAll],
  ['removal × removal', [add('a')], remove('a'), remove('a')],
  ['removal × end of all', [add('a'), add('b')], remove('a'), removeAll],
  ['end of all × end of all', [add('a'), add('b')], removeAll, removeAll],
]

t.test('two verbs on credentials keep the laws, in every order and with every fault at every step', async t => {
  for (const [name, before, one, other] of PAIRS) {
    const { states, violation } = await explore({ subject, build, before, actors: [[one], [other]], faults: 1 })
    t.equal(violation?.join('\n') ?? null, null, `${name}: ${states} states`)
  }
})

t.test('a succession keeps the laws with any two faults', async t => {
  const before = [add('a'), add('b')]
  const { states, violation } = await explore({ subject, build, before, actors: [[succeed('a', 'c')]], faults: 2 })
  t.equal(violation?.join('\n') ?? null, null, `${states} states`)
})

/** More at once than every fault can be tried with. */
const MANY: [string, CredentialAct[], CredentialAct[][]][] = [
  ['add × succession, without a place', [add('a'), add('b')], [[add('c')], [succeed('a', 'd')]]],
  ['succession × succession', [add('a')], [[succeed('a', 'b')], [succeed('a', 'c')]]],
  ['add × removal × end of all', [add('a')], [[add('b')], [remove('a')], [removeAll]]],
  ['add × add × removal, for the last place', [add('a')], [[add('b')], [add('c')], [remove('a')]]],
  ['succession of a successor × end of all', [add('a')], [[succeed('a', 'b'), succeed('b', 'c')], [removeAll]]],
]

t.test('more verbs on credentials at once keep the laws, in every order', async t => {
  for (const [name, before, actors] of MANY) {
    const { states, violation } = await explore({ subject, build, before, actors, faults: 0 })
    t.equal(violation?.join('\n') ?? null, null, `${name}: ${states} states`)
  }
})

const wrong =
  (Orders: typeof RecordBeforeList): Build<CredentialStore> =>
  (redis, keys, clock) =>
    new Orders(redis, keys, clock)

const WRONG: [string, Build<CredentialStore>, CredentialAct[], CredentialAct, CredentialAct][] = [
  ['a record that can be found before it is in the list', wrong(RecordBeforeList), [], add('a'), list],
  ['a place that is checked after the record was written', wrong(ListBeforeRecord), [], add('a'), removeAll],
  ['a removal that takes out of the list first', wrong(OutOfListFirst), [add('a')], remove('a'), list],
  ['an end of all that looks once', wrong(EndOfOneLook), [add('a')], succeed('a', 'b'), removeAll],
  ['a rewriting that compares nothing', wrong(BlindRewriting), [add('a')], rewrite('a'), remove('a')],
  ['a succession that compares nothing', wrong(BlindSuccession), [add('a')], succeed('a', 'b'), succeed('a', 'c')],
]

t.test('the proofs find the faults of wrong orders of credentials', async t => {
  for (const [name, build, before, one, other] of WRONG) {
    const { violation } = await explore({ subject, build, before, actors: [[one], [other]], faults: 1 })
    t.match(violation?.at(-1), /^C\d: /, name)
    t.comment(`${name}, the shortest way to break a law:\n${violation?.join('\n')}`)
  }
})

const anyAct: fc.Arbitrary<CredentialAct | Wait> = fc.oneof(
  { arbitrary: fc.constant(add('')), weight: 4 },
  { arbitrary: fc.nat(5).map(i => succeed(`k${i}`, '')), weight: 3 },
  { arbitrary: fc.nat(5).chain(i => fc.constantFrom(remove(`k${i}`), rewrite(`k${i}`))), weight: 3 },
  { arbitrary: fc.constantFrom(removeAll, list), weight: 2 },
  { arbitrary: fc.constantFrom(OVERLAP, LONG / 2).map((lifetime): Wait => ({ verb: 'wait', lifetime })), weight: 1 },
)

const troupe = fc.array(fc.array(anyAct, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 4 })

/** No id is used twice. */
function numbered(actors: (CredentialAct | Wait)[][]): (CredentialAct | Wait)[][] {
  let made = 1
  const number = (act: CredentialAct | Wait): CredentialAct | Wait => {
    if (act.verb === 'add') return { ...act, id: `k${made++}` }
    return act.verb === 'succeed' ? { ...act, next: `k${made++}` } : act
  }
  return actors.map(acts => acts.map(number))
}

/** Without a place, an add takes a dead successor out of the list, between two successions of one credential that have begun at once. */
const FOUND: [(CredentialAct | Wait)[][], number[]] = [
  [[succeed('k1', ''), succeed('k1', '')], [add(''), add('')], [succeed('k0', '')], [succeed('k0', '')]],
  [
    967, 350, 4103, 1436, 1772, 1289, 7659, 8240, 4866, 5776, 0, 9136, 631, 3354, 0, 1968, 2199, 4691, 0, 2283, 3291,
    1204, 0, 0, 701, 2192,
  ],
]

t.test('any number of verbs on credentials keeps the laws, in any order, with up to three faults', async t => {
  const choices = fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 })
  const property = fc.asyncProperty(troupe, choices, async (actors, choices) => {
    const scenario = { subject, build, before: [add('k0')], actors: numbered(actors), faults: 3 }
    const violation = await walk(scenario, choices)
    if (violation !== null) throw new Error(violation.join('\n'))
  })
  await fc.assert(property, { numRuns: RUNS, examples: [FOUND] })
  t.pass(`${RUNS} ways`)
})
