import t, { type Test } from 'tap'
import { Unavailable } from '../../../src/base/refusal.ts'
import { codeAt } from '../../second-factor/factor-fixture.ts'
import { run } from '../../support/command-line.ts'
import { type Fixture, openFixture, withEveryStore } from '../../support/gateway-fixture.ts'
import { addPerson, ldapConfig, PERSON_PASSWORD, startSlapd, unitOf, withoutSlapd } from '../../support/slapd.ts'
import { until } from '../../support/until.ts'
import { memoryOfFactors } from '../factor-memory.ts'
import { openSource } from './ldap-fixture.ts'
import { startPeople } from './people.ts'

/* Second factors of accounts in a directory, which are in the store of the gateway. */

const MINUTE = 60_000
const OWN = '/api/v1/b/account/second-factor'
const STEP = '/api/v1/public/b/login/second-factor'

/** What a person of the directory does at the gateway. */
function personOf(fixture: Fixture, username: string, password: string) {
  const login = async () =>
    (await fixture.post('/api/v1/public/b/login', await fixture.credentials(username, password))).json()
  const post = async (name: string, body: object, token: string) =>
    (await fixture.post(`${OWN}/${name}`, body, token)).json()
  const proof = async (code?: string) => {
    const { password: current_password } = await fixture.credentials(username, password)
    return { current_password, ...(code !== undefined && { code }) }
  }
  return {
    login,
    post,
    proof,
    signIn: () => fixture.signIn(username, password),
    step: async (ticket: string, code: string) => (await fixture.post(STEP, { ticket, code })).json(),
    async enrol(token: string): Promise<{ secret: string; codes: string[] }> {
      const { secret } = (await post('setup', await proof(), token)).data
      const { data } = await post('confirm', { code: codeAt(secret, fixture.now()) }, token)
      return { secret, codes: data.recovery_codes }
    },
  }
}

const isLive = async (fixture: Fixture, token: string): Promise<boolean> =>
  (await fixture.store.sessions.find('BUSINESS', token)) !== null

/** One line of `dualgate account show`. */
async function shownOf({ folder }: Fixture, name: string): Promise<string | undefined> {
  const { output, errors } = await run(folder, ['account', 'show', name, '--config', 'gateway.yaml'])
  return /^second factor: +(.+)$/m.exec(output)?.[1] ?? errors
}

async function ownFactor(t: Test, fixture: Fixture, name: string, password: string): Promise<void> {
  const person = personOf(fixture, name, password)
  const [own, other] = [await person.signIn(), await person.signIn()]
  const described = async () => (await fixture.get('/api/v1/b/account', own)).json().data
  t.match(await described(), { second_factor: false, recovery_codes_left: null, can: ['second-factor'] })
  t.equal(await shownOf(fixture, name), 'no')

  const { secret, codes } = await person.enrol(own)
  t.match(await described(), { second_factor: true, recovery_codes_left: 10, can: ['second-factor'] })
  t.equal(await shownOf(fixture, name), 'yes')
  t.ok(await isLive(fixture, other), 'to gain one ends no session')
  const { user_id } = (await fixture.store.sessions.find('BUSINESS', own))!
  const stored = await fixture.store.factors.read('BUSINESS', user_id)
  t.match(stored, /^\{"second_factor":"[\w-]{12}\.[\w-]{100,}"\}$/)
  t.equal(await fixture.store.factors.read('CONSUMER', user_id), null)

  const wanted = await person.login()
  t.match(wanted, { code: 403, data: { required: 'second-factor' } })
  t.match(await person.step(wanted.data.ticket, 'abcd-abcd'), { code: 400 })
  const passed = await person.step(wanted.data.ticket, codeAt(secret, fixture.now(), 1))
  t.match(passed, { code: 200, data: { token: /./ } })
  t.match(await person.step((await person.login()).data.ticket, codes[0]!), { code: 200 })
  t.match(await person.step((await person.login()).data.ticket, codes[0]!), { code: 400 }, 'each is worth once')
  t.not(await fixture.store.factors.read('BUSINESS', user_id), stored)
  t.match(await described(), { recovery_codes_left: 9 })

  t.match(await person.post('remove', await person.proof(codes[1]), own), { code: 200, data: null })
  t.ok(await isLive(fixture, own))
  for (const token of [other, passed.data.token]) t.notOk(await isLive(fixture, token))
  t.match(await described(), { second_factor: false })
  t.ok(await person.signIn(), 'the password is enough again')
}

async function resetFactor(t: Test, fixture: Fixture, name: string, password: string): Promise<void> {
  const dualgate = (...words: string[]) => run(fixture.folder, [...words, '--config', 'gateway.yaml'])
  const addKey = async () => (await dualgate('key', 'add', name)).output.trim().split('\n').at(-1)!
  const codeOf = async (token: string) => (await fixture.get('/api/v1/b/x', token)).json().code ?? 200
  const person = personOf(fixture, name, password)
  const [own, other, key] = [await person.signIn(), await person.signIn(), await addKey()]
  t.match(await dualgate('account', 'reset-second-factor', name), {
    code: 1,
    output: '',
    errors: `dualgate: ${name} has no second factor\n`,
  })
  await person.enrol(own)
  for (const credential of [own, other, key]) t.equal(await codeOf(credential), 200)

  t.match(await dualgate('account', 'reset-second-factor', name), {
    code: 0,
    output: `removed the second factor of ${name}\nended its sessions: 2, keys: 1\n`,
    errors: '',
  })
  for (const token of [own, other]) t.notOk(await isLive(fixture, token))
  t.same(await fixture.store.credentials.page('BUSINESS', 0, 10), { total: 0, credentials: [] })
  for (const credential of [own, other, key]) t.ok(await until(async () => (await codeOf(credential)) === 401))
  t.equal(await shownOf(fixture, name), 'no')
  const { entries } = await fixture.store.journal.page({ size: 20 })
  const by = 'command line'
  for (const event of ['second-factor-reset', 'kickout', 'key-revoked'])
    t.match(
      entries.find(found => found.event === event),
      { by, type: 'BUSINESS' },
      event,
    )
  t.match(await dualgate('account', 'reset-second-factor', name), { code: 1, errors: /has no second factor/ })

  const [again, later] = [await person.signIn(), await addKey()]
  t.equal(await codeOf(again), 200, 'and what begins later stays')
  t.ok(await until(async () => (await codeOf(later)) === 200), 'a key, once the directory is asked again')
  await person.enrol(again)
  t.match(await person.login(), { code: 403, data: { required: 'second-factor' } })
  t.equal(await codeOf(later), 200)
}

/** The factor is set up at the login, before there is a session. */
async function requiredFactor(t: Test, fixture: Fixture, name: string, password: string): Promise<void> {
  const person = personOf(fixture, name, password)
  const wanted = await person.login()
  t.match(wanted, { code: 403, data: { required: 'second-factor-setup' } })
  const { ticket } = wanted.data
  const { secret } = (await fixture.post(`${STEP}/setup`, { ticket })).json().data
  const passed = await person.step(ticket, codeAt(secret, fixture.now()))
  t.equal(passed.data.recovery_codes.length, 10)
  t.match(await person.login(), { code: 403, data: { required: 'second-factor' } })
  const removed = await person.post('remove', await person.proof(codeAt(secret, fixture.now(), 1)), passed.data.token)
  t.match(removed, { code: 403 }, 'it is required')
  t.match(await person.login(), { code: 403, data: { required: 'second-factor' } })
}

const people = await startPeople(t, ['jane', 'john'])
const { password } = people

withEveryStore(
  t,
  async (t, fixture) => {
    await t.test('users of a directory set up, use and remove a second factor', t =>
      ownFactor(t, fixture, 'jane', password),
    )
    await t.test('an operator resets a second factor, which ends the sessions and keys from before', t =>
      resetFactor(t, fixture, 'john', password),
    )
  },
  { config: { accounts: { ...people.config, recheck: '1s' } } },
)

withEveryStore(
  t,
  async (t, fixture) => {
    await t.test('users of a directory who must have a second factor set it up at the login', t =>
      requiredFactor(t, fixture, 'jane', password),
    )
  },
  { config: { accounts: people.config, login: { second_factor: { for: 'all' } } } },
)

t.test('the same holds for a real directory', { skip: withoutSlapd }, async t => {
  const slapd = await startSlapd(t)
  const base = await unitOf(slapd, 'factors')
  for (const name of ['jane', 'john']) await addPerson(slapd, base, name)
  const fixture = await openFixture(t, { config: { accounts: ldapConfig(slapd, { base, recheck: '1s' }) } })
  await ownFactor(t, fixture, 'jane', PERSON_PASSWORD)
  await resetFactor(t, fixture, 'john', PERSON_PASSWORD)
})

t.test('a second factor that is gone from the store ends its sessions when the directory is asked again', async t => {
  const fixture = await openFixture(t, { config: { accounts: { ...people.config, recheck: '60s' } } })
  const person = personOf(fixture, 'jane', password)
  const { codes } = await person.enrol(await person.signIn())
  const { token } = (await person.step((await person.login()).data.ticket, codes[0]!)).data
  const id = people.idOf('jane')
  const stored = await fixture.store.factors.read('BUSINESS', id)
  t.equal(await fixture.store.factors.replace('BUSINESS', id, stored, '{}'), true)
  t.ok(await isLive(fixture, token))
  await fixture.elapse(2 * MINUTE)
  t.ok(
    await until(async () => {
      await fixture.get('/api/v1/b/x', token)
      return !(await isLive(fixture, token))
    }),
  )
})

t.test('a second factor that another program wrote stops the login with 503', async t => {
  const fixture = await openFixture(t, { config: { accounts: people.config } })
  const person = personOf(fixture, 'jane', password)
  await fixture.store.factors.replace('BUSINESS', people.idOf('jane'), null, 'nonsense')
  t.match(await person.login(), { code: 503, data: null })
  t.match(await personOf(fixture, 'jane', 'wrong').login(), { code: 400, message: 'Wrong username or password' })
  t.ok(await personOf(fixture, 'john', password).signIn())
  t.notMatch(fixture.log.join('\n'), 'nonsense')
  t.equal(await shownOf(fixture, 'jane'), 'not known')
})

t.test('the store is asked only after the right password, and a store that fails is unavailable', async t => {
  const factors = memoryOfFactors()
  const source = await openSource(t, people.config, { factors })
  for (const [name, password] of [
    ['jane', 'wrong'],
    ['nobody', people.password],
  ] as const) {
    const login = { spent: 0 }
    t.equal(await source.verify(await source.find(name, login), password, login), false)
  }
  t.same(factors.reads, [])

  const login = { spent: 0 }
  const account = await source.find('jane', login)
  t.equal(await source.verify(account, people.password, login), true)
  t.same(factors.reads, [people.idOf('jane')])
  await source.updates!.secondFactor(account!, 'nameofthe_12.sealed').store()
  t.match(await source.find('jane'), { secondFactor: 'nameofthe_12.sealed' })

  factors.isAway = true
  await t.rejects(source.find('jane'), Unavailable)
  const again = { spent: 0 }
  const found = await source.find('jane', again)
  await t.rejects(source.verify(found, people.password, again), Unavailable)
  t.equal(await source.verify(await source.find('jane', again), 'wrong', again), false)
})
