import { createHash } from 'node:crypto'
import t from 'tap'
import { createChallenge, isProof } from '../../src/login/captcha/proof.ts'
import { ADMIN, openFixture, sm2KeyPath, withEveryStore } from '../support/gateway-fixture.ts'
import { encrypt } from '../support/login-work.ts'
import { ROOT } from '../support/root.ts'

/* A proof of work instead of a captcha: what the page computes, and what the gateway accepts. */

const { solve }: { solve(challenge: string, difficulty: number): string } = await import(
  `${ROOT}/src/console/sign-in/proof.js`
)

t.test('what the page computes has enough leading zero bits, and the gateway accepts it', async t => {
  for (const difficulty of [0, 1, 7, 8, 9, 12]) {
    const { kept, challenge } = createChallenge(difficulty)
    const number = solve(challenge, difficulty)
    const digest = createHash('sha256')
      .update(challenge + number)
      .digest()
    const bits = [...digest].map(byte => byte.toString(2).padStart(8, '0')).join('')
    t.match(bits, new RegExp(`^0{${difficulty}}`))
    t.ok(isProof(kept, number), `${difficulty} bits`)
  }
})

t.test('only a plain number is a proof, and not what the store keeps', async t => {
  const { kept, challenge } = createChallenge(0)
  t.ok(isProof(kept, '0'))
  for (const text of ['', ' ', '00', '-1', '1.0', '1e3', '0x1', '12345678901234567', challenge, kept])
    t.notOk(isProof(kept, text), text)
  t.notMatch(kept, challenge, 'no client knows what another program would compare with')
})

t.test('a number that solves another challenge is no proof', async t => {
  const [one, other] = [createChallenge(16), createChallenge(16)]
  const number = solve(one.challenge, 16)
  const hits = isProof(other.kept, number)
  const digest = createHash('sha256')
    .update(other.challenge + number)
    .digest()
  t.equal(hits, digest.readUInt16BE(0) === 0)
})

withEveryStore(
  t,
  async (t, fixture) => {
    const publicKey = (await fixture.get(sm2KeyPath(fixture.profile))).json().data
    for (const section of ['b', 'c']) {
      const challengeOf = async () =>
        (await fixture.get(`/api/v1/public/${section}/captcha?kind=proof-of-work`)).json().data
      const login = async (captcha_id: string, captcha_value: string) =>
        (
          await fixture.post(`/api/v1/public/${section}/login`, {
            captcha_id,
            captcha_value,
            username: ADMIN.username,
            password: encrypt('wrong', publicKey),
          })
        ).json()

      t.test(`${section}: a proof is worth one try, right or wrong`, async t => {
        const { captcha_id, challenge, difficulty, ...others } = await challengeOf()
        t.same(others, { captcha_base64: null, captcha_code: null })
        const number = solve(challenge, difficulty)
        // Only after its captcha is a password verified.
        t.match(await login(captcha_id, number), { message: 'Wrong username or password' })
        t.match(await login(captcha_id, number), { success: false, message: /expired/ })
        const next = await challengeOf()
        t.match(await login(next.captcha_id, '-1'), { success: false, message: 'Wrong captcha' })
        t.match(await login(next.captcha_id, solve(next.challenge, difficulty)), { success: false, message: /expired/ })
      })

      t.test(`${section}: a picture is still answered by its text, and no proof of a picture is accepted`, async t => {
        const picture = (await fixture.get(`/api/v1/public/${section}/captcha`)).json().data
        t.match(picture, { captcha_base64: /^data:image\/png/ })
        t.equal(picture.challenge, undefined)
        t.match(await login(picture.captcha_id, '0'), { success: false, message: 'Wrong captcha' })
      })

      t.test(`${section}: a challenge ends after the lifetime of a captcha`, async t => {
        const { captcha_id, challenge, difficulty } = await challengeOf()
        await fixture.elapse(300_000)
        t.match(await login(captcha_id, solve(challenge, difficulty)), { success: false, message: /expired/ })
      })
    }
  },
  {
    config: {
      login: {
        captcha: { alternative: 'proof-of-work', difficulty: 12 },
        consumer: { kind: 'file', path: 'consumers.yaml' },
      },
    },
  },
)

t.test('as shipped, a proof of work is refused, and the answer names what is possible', async t => {
  const fixture = await openFixture(t)
  const answer = (await fixture.get('/api/v1/public/b/captcha?kind=proof-of-work')).json()
  t.match(answer, { code: 400, success: false })
  t.match((await fixture.get('/api/v1/public/b/captcha')).json(), { success: true })
})

t.test('challenges count in the limit of captchas', async t => {
  const fixture = await openFixture(t, {
    config: {
      login: {
        captcha: { alternative: 'proof-of-work' },
        rate_limit: { captcha: 2, login: 10, window: '60s' },
      },
    },
  })
  const codes: number[] = []
  for (const kind of ['picture', 'proof-of-work', 'proof-of-work', 'picture'])
    codes.push((await fixture.get(`/api/v1/public/b/captcha?kind=${kind}`)).json().code)
  t.same(codes, [200, 200, 429, 429])
})
