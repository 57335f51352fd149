import { createHmac } from 'node:crypto'
import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { call } from '../../support/client.ts'
import { openFixture } from '../../support/gateway-fixture.ts'
import { temporaryFolder } from '../../support/image.ts'
import { freePort } from '../../support/ports.ts'
import { ROOT } from '../../support/root.ts'
import { type Backend, missing, startBackend } from './backend-processes.ts'

/* The backends of config/examples, behind a gateway that signs the identity, and reached directly. */

const [KEY, NEXT] = ['the key of these days', 'the key of tomorrow']
const FOLDER = join(ROOT, 'config/examples/backends')
/** A folder `node_modules` with Express. */
const { EXPRESS } = process.env

const BACKENDS: Backend[] = [
  {
    name: 'Express',
    skip: EXPRESS === undefined && 'LEFT OUT: $EXPRESS does not name a folder node_modules with express',
    words: t => {
      const folder = join(temporaryFolder(t, 'express'), 'backends')
      cpSync(FOLDER, folder, { recursive: true })
      symlinkSync(EXPRESS!, join(folder, 'node_modules'))
      return [process.execPath, join(folder, 'express.mjs')]
    },
  },
  {
    name: 'FastAPI',
    skip: missing('uvicorn', ' (pip install fastapi uvicorn)'),
    words: (_t, port) => ['uvicorn', 'fastapi_backend:app', '--app-dir', FOLDER, '--port', String(port)],
  },
  { name: 'Go', skip: missing('go'), words: () => ['go', 'run', join(FOLDER, 'backend.go')] },
]

const PASSWORD = 'a password for demonstrations'
const PATH = '/api/v1/c/a%20b'
const USER = { id: '42', type: 'CONSUMER' }

/** Headers as the gateway sends them, signed with a key at a time. */
function signed(key: string, time: number, { id, type } = USER, path = PATH): Record<string, string> {
  const text = [time, type, id, '', 'GET', path].join('.')
  const signature = `t=${time},v1=${createHmac('sha256', key).update(text).digest('hex')}`
  return { 'X-Login-Id': id, 'X-Login-Type': type, 'X-Login-Signature': signature }
}

for (const backend of BACKENDS) {
  t.test(`a backend with ${backend.name}`, { skip: backend.skip }, async t => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const target = { target: url, identity: { signature: [KEY, NEXT], extra: true } }
    const fixture = await openFixture(t, {
      upstreams: [
        { name: 'backend', match: '/api/v1/c', ...target },
        { name: 'public', match: '/api/v1/public/c', rewrite: '/api/v1/c', ...structuredClone(target) },
        { name: 'sign-in', match: '/api/v1/public/c/sign-in', ...structuredClone(target) },
      ],
    })
    await startBackend(t, backend, port, {
      IDENTITY_KEYS: `${KEY},${NEXT}`,
      INTERNAL_URL: fixture.internal,
      INTERNAL_SECRET: fixture.settings.internal.secret,
      DEMO_PASSWORD: PASSWORD,
    })

    t.test('reads the identity of a request that comes through the gateway', async t => {
      const { token } = (await fixture.operate('consumer', 'login', { user_id: '42', extra: { name: '安' } })).data
      t.same((await fixture.get(`${PATH}?q=1&r=%2f`, token)).json(), USER)
      t.same((await fixture.get('/api/v1/public/c/x')).json(), { id: '', type: '' }, 'without a session')
    })

    t.test('signs a consumer in, who can end every session of theirs', async t => {
      const signIn = (password: string) =>
        call(fixture.url, { method: 'POST', path: '/api/v1/public/c/sign-in', body: { name: '43', password } })
      for (const wrong of ['', `${PASSWORD}x`]) t.equal((await signIn(wrong)).status, 401, 'with a wrong password')
      const [first, second] = [(await signIn(PASSWORD)).json().token, (await signIn(PASSWORD)).json().token]
      t.same((await fixture.get(PATH, first)).json(), { id: '43', type: 'CONSUMER' })
      const path = '/api/v1/c/sign-out-everywhere'
      t.equal((await call(fixture.url, { method: 'POST', path, token: second })).status, 200)
      for (const token of [first, second]) t.equal((await fixture.get(PATH, token)).json().code, 401)
    })

    t.test('refuses every request that the gateway has not signed within the last minute', async t => {
      const now = Math.floor(Date.now() / 1000)
      const ask = async (headers: Record<string, string>): Promise<number> =>
        (await call(url, { path: PATH, headers })).status
      for (const key of [KEY, NEXT]) t.equal(await ask(signed(key, now)), 200, 'with either key')
      const refused: [what: string, headers: Record<string, string>][] = [
        ['without a signature', { 'X-Login-Id': '42', 'X-Login-Type': 'CONSUMER' }],
        ['with another key', signed('another key altogether', now)],
        ['too old', signed(KEY, now - 120)],
        ['from the future', signed(KEY, now + 120)],
        ['of another path', signed(KEY, now, USER, '/api/v1/c/a')],
        ['of a decoded path', signed(KEY, now, USER, '/api/v1/c/a b')],
        ['of another user', { ...signed(KEY, now), 'X-Login-Id': '43' }],
        ['of the other side', { ...signed(KEY, now), 'X-Login-Type': 'BUSINESS' }],
        ['with an extra', { ...signed(KEY, now), 'X-Login-Extra': 'e30' }],
        ['with an empty signature', { ...signed(KEY, now), 'X-Login-Signature': 't=,v1=' }],
        ['with a signature of other letters', { ...signed(KEY, now), 'X-Login-Signature': `t=${now},v1=é` }],
      ]
      for (const [what, headers] of refused) t.equal(await ask(headers), 401, what)
    })
  })
}
