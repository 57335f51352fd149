import t, { type Test } from 'tap'
import type { SourceLogin } from '../../../src/account/source.ts'
import { type Fixture, openFixture } from '../../support/gateway-fixture.ts'
import type { LdapResponse } from '../../support/ldap-server.ts'
import { openSource } from './ldap-fixture.ts'
import { type People, startPeople } from './people.ts'

/*
 * An expired password proves something only where the directory has compared it first. FreeIPA says so before it does, once an account
 * has no grace login left: its plugin ipa_graceperiod answers every bind.
 */

/** passwordExpired, and beside it no grace login left (draft-behera-ldap-password-policy-10, 6.2). */
const [EXPIRED, EXPIRED_WITHOUT_GRACE] = ['3003810100', '3008a003810100810100']

const FREEIPA: LdapResponse = { code: 49, diagnostic: 'Password is expired.\n', policy: EXPIRED_WITHOUT_GRACE }

t.test('that a password has expired proves it only where the directory says so after comparing it', async t => {
  const people = await startPeople(t, ['jane'])
  const source = await openSource(t, people.config)
  for (const [diagnostic, policy, isRight, obstacle] of [
    // OpenLDAP, 389 Directory Server.
    ['', EXPIRED, true, undefined],
    ['password expired!', EXPIRED, true, undefined],
    // FreeIPA, and what no known directory says.
    ['Password is expired.\n', EXPIRED_WITHOUT_GRACE, false, 'expired'],
    ['Password is expired.\n', EXPIRED, false, 'expired'],
    ['INVALID_CREDENTIALS: Bind failed: password expired', EXPIRED, false, 'expired'],
    ['password expired! Or not', EXPIRED, false, 'expired'],
    // Without the control it is the text of a wrong password.
    ['', undefined, false, undefined],
    ['password expired!', undefined, false, undefined],
  ] as const) {
    const account = (await source.find('jane'))!
    answerBinds(people, { code: 49, diagnostic, ...(policy !== undefined && { policy }) })
    const login: SourceLogin = { spent: 0 }
    const found = [await source.verify(account, 'a password', login), account.passwordExpired, login.obstacle]
    t.same(found, [isRight, isRight || undefined, obstacle], JSON.stringify({ diagnostic, policy }))
  }
})

t.test('while FreeIPA has not compared a password, it is answered and counted as a wrong one', async t => {
  const { people, fixture } = await open(t, { login: { lockout: { failures: 2 } } })
  const unknown = await answerTo(fixture, 'nobody')
  t.match(unknown, { code: 400, message: 'Wrong username or password' })
  answerBinds(people, FREEIPA)
  for (let i = 0; i < 2; i++) t.same(await answerTo(fixture, 'jane'), unknown)
  t.match(await answerTo(fixture, 'jane'), { code: 403 }, 'disabled')
  const logged = fixture.log.map(line => JSON.parse(line))
  t.equal(logged.filter(({ because }) => because === 'expired-in-directory').length, 2)
})

t.test('and proves nothing in a session that began before', async t => {
  const { people, fixture } = await open(t)
  const token = await fixture.signIn('jane', people.password)
  answerBinds(people, FREEIPA)
  t.match(await setUp(fixture, token, 'guessed'), { code: 400, message: 'Wrong username or password', data: null })
})

t.test('a right password that has expired proves nothing more than at the login', async t => {
  const { people, fixture } = await open(t)
  const token = await fixture.signIn('jane', people.password)
  answerBinds(people, { code: 49, policy: EXPIRED })
  const message = 'The password has expired; change it in your company directory'
  t.match(await answerTo(fixture, 'jane'), { code: 400, message })
  t.match(await setUp(fixture, token, people.password), { code: 400, message, data: null })
})

async function open(t: Test, config: Record<string, unknown> = {}) {
  const people = await startPeople(t, ['jane'])
  return { people, fixture: await openFixture(t, { config: { accounts: people.config, ...config } }) }
}

/** Each bind of a user gets this answer from now on. */
function answerBinds(people: People, answer: LdapResponse): void {
  const { respond } = people
  people.respond = request => (request.kind === 'bind' && request.dn.startsWith('uid=') ? answer : respond(request))
}

/** What the login answers to a password, without the id of the request. */
async function answerTo(fixture: Fixture, username: string) {
  const credentials = await fixture.credentials(username, 'a password')
  return { ...(await fixture.post('/api/v1/public/b/login', credentials)).json(), trace_id: '' }
}

/** What the set-up of a second factor answers to a password. */
async function setUp(fixture: Fixture, token: string, password: string) {
  const { password: current_password } = await fixture.credentials('jane', password)
  return (await fixture.post('/api/v1/b/account/second-factor/setup', { current_password }, token)).json()
}
