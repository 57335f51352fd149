import { createPublicKey, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import { jwtVerify } from 'jose'
import t, { type Test } from 'tap'
import { CLIENT_ID, SUBJECT } from '../support/hostile-provider.ts'
import { newKeyPair } from '../support/key-pair.ts'
import { type HostileFixture, openHostile } from './hostile-fixture.ts'
import { CLIENT } from './provider-fixture.ts'

const ALGORITHMS = ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA']

const tokenRequests = ({ hostile }: HostileFixture) => hostile.requests.filter(({ endpoint }) => endpoint === 'token')

/** A provider that knows the client by a key. */
async function withKey(t: Test, key: KeyObject) {
  const folder = t.testdir({ 'client.pem': key.export({ type: 'pkcs8', format: 'pem' }).toString() })
  return openHostile(t, { key: join(folder, 'client.pem') })
}

t.test('the client proves itself by an assertion of its key, each by the algorithm of the key', async t => {
  for (const alg of ALGORITHMS)
    await t.test(alg, async t => {
      const key = newKeyPair(alg).privateKey
      const fixture = await withKey(t, key)
      t.match(await fixture.signIn(), { sub: SUBJECT })
      await fixture.signIn()
      const [first, second] = await Promise.all(
        tokenRequests(fixture).map(({ headers, body }) => {
          t.notOk(headers.authorization)
          t.notOk(body.has('client_secret'))
          t.equal(body.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
          return jwtVerify(body.get('client_assertion')!, createPublicKey(key), {
            algorithms: [alg],
            issuer: CLIENT_ID,
            subject: CLIENT_ID,
            audience: fixture.hostile.issuer,
            currentDate: new Date(fixture.clock.now()),
          })
        }),
      )
      const now = Math.floor(fixture.clock.now() / 1000)
      t.match(first!.payload, { iat: now, nbf: now, exp: now + 60, jti: String })
      t.not(first!.payload.jti, second!.payload.jti)
    })
})

t.test('the client proves itself by its secret in the header, or in the body', async t => {
  const basic = await openHostile(t)
  await basic.signIn()
  const [inHeader] = tokenRequests(basic)
  t.notOk(inHeader!.body.has('client_secret'))
  const [id, secret] = Buffer.from(inHeader!.headers.authorization!.replace('Basic ', ''), 'base64')
    .toString()
    .split(':')
  const form = new URLSearchParams(`id=${id}&secret=${secret}`)
  t.same(Object.fromEntries(form), { id: CLIENT_ID, secret: CLIENT.client_secret })
  const post = await openHostile(t, { client_auth: 'post' })
  await post.signIn()
  const [inBody] = tokenRequests(post)
  t.notOk(inBody!.headers.authorization)
  t.match(Object.fromEntries(inBody!.body), CLIENT)
})
