import t, { type Test } from 'tap'
import { faultText } from '../../../src/base/fault-text.ts'
import { type LdapServer, startLdapServer } from '../../support/ldap-server.ts'
import { reasonOf } from '../source-contract.ts'
import { openSource } from './ldap-fixture.ts'
import { startPeople } from './people.ts'

/* Which server a question goes to, how often and for how long: here servers fail at the moment that a test says. */

async function openTwo(t: Test) {
  const first = await startPeople(t, ['jane'])
  const second = await startLdapServer(t, first)
  const { respond } = first
  second.respond = respond
  const source = await openSource(t, { ...first.config, url: [first.url, second.url] })
  /** As a login does: without the groups, this is one search. */
  const find = (spent = 0) => source.find('jane', { spent })
  return { first, second, respond, source, find }
}

const kinds = ({ requests }: LdapServer): string[] => requests.map(({ kind }) => kind)

/** The time limit of a login, and what is left of it after a long search, in milliseconds. */
const [LIMIT, LEFT] = [60_000, 200]

t.test('a connection that closes under a question costs one retry there, and no other server', async t => {
  const { first, second, respond, source, find } = await openTwo(t)
  await find()
  let closes = 1
  first.respond = request => (request.kind === 'search' && closes-- > 0 ? 'close' : respond(request))
  t.equal((await find())?.username, 'jane')
  t.same(kinds(first), ['bind', 'search', 'search', 'bind', 'search'])
  t.same([second.requests, source.logged], [[], []])
})

t.test('with a connection that has closed go all that were kept to its server', async t => {
  const { first, respond, find } = await openTwo(t)
  const findTwice = () => Promise.all([find(), find()])
  const binds = () => kinds(first).filter(kind => kind === 'bind').length
  await findTwice()
  t.equal(binds(), 2)
  let closes = 1
  first.respond = request => (closes-- > 0 ? 'close' : respond(request))
  await find()
  t.equal(binds(), 3)
  await findTwice()
  t.equal(binds(), 4, 'of the two kept before none is used')
})

t.test('a server that closes the retry, too, hands over to the next one, and is asked after it', async t => {
  const { first, second, source, find } = await openTwo(t)
  await find()
  first.respond = () => 'close'
  t.equal((await find())?.username, 'jane')
  t.same(
    [kinds(first), kinds(second)],
    [
      ['bind', 'search', 'search', 'bind'],
      ['bind', 'search'],
    ],
  )
  t.match(source.logged, [['warn', { url: first.url }, 'a server of the directory does not answer']])
  await Promise.all([find(), find()])
  t.equal(first.requests.length, 4)
  t.same(kinds(second).slice(2).sort(), ['bind', 'search', 'search'])
})

t.test('a password goes to one server, and is not sent again when that one fails', async t => {
  const { first, second, respond, source, find } = await openTwo(t)
  const jane = await find()
  const { length } = first.requests
  first.respond = request => (request.kind === 'bind' ? 'close' : respond(request))
  t.equal(await reasonOf(source.verify(jane, 'correct horse 5')), 'UNAVAILABLE')
  t.same(kinds(first).slice(length), ['bind'])
  t.same(second.requests, [])
  t.equal(await source.verify(jane, 'correct horse 5'), true, 'the next attempt goes to the next server')
})

t.test('the time limit is for all connections and servers together, and none takes the time of the next', async t => {
  const { first, second, find } = await openTwo(t)
  await find()
  for (const server of [first, second]) server.respond = () => 'silent'
  const fault = await find(LIMIT - LEFT).catch((fault: Error) => fault)
  const parts = faultText(fault).split('; ')
  const places = [
    /^UNAVAILABLE: the directory of the accounts: no/,
    new RegExp(`^${second.url}: no`),
    new RegExp(`^${first.url}: no`),
  ]
  t.match(parts, places, 'a server that was silent on a kept connection comes after the others')
  const [kept = 0, next = 0, last = 0] = parts.map(part => Number(/no answer within (\d+) ms$/.exec(part)?.[1]))
  t.ok(kept <= LEFT / 2 && next <= LEFT / 4 && kept + next + last <= LEFT + parts.length, `${parts}`)
})
