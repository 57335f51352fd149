import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { sm2 } from 'sm-crypto-v2'
import t from 'tap'
import { ADMIN, type Fixture, openFixture } from '../support/gateway-fixture.ts'

/* Everything that can stand in a login request. None of it is a fault of the gateway, and no answer reveals anything. */

const LOCKOUT = { failures: 100_000, address_failures: 100_000 }
const SECTIONS = ['b', 'c'] as const
type Section = (typeof SECTIONS)[number]

const fixture = await openFixture(t, {
  config: { login: { lockout: LOCKOUT, consumer: { kind: 'file', path: 'consumers.yaml' } } },
})
// With its hash of the lowest cost, with which each wrong password is compared.
copyFileSync(join(fixture.folder, 'accounts.yaml'), join(fixture.folder, 'consumers.yaml'))

const keys = { b: await publicKeyOf(fixture, 'b'), c: await publicKeyOf(fixture, 'c') }

async function publicKeyOf(fixture: Fixture, section: Section): Promise<ReturnType<typeof sm2.precomputePublicKey>> {
  return sm2.precomputePublicKey((await fixture.get(`/api/v1/public/${section}/sm2/public-key`)).json().data)
}

/** SM2 of any bytes, C1C3C2 unless said otherwise. */
const encrypt = (text: string | Uint8Array, section: Section, mode: 0 | 1 = 1): string =>
  sm2.doEncrypt(text, keys[section], mode)

async function credentials(section: Section): Promise<Record<string, unknown>> {
  const { id, answer } = await fixture.captcha(section)
  return {
    captcha_id: id,
    captcha_value: answer,
    username: ADMIN.username,
    password: encrypt(ADMIN.password, section),
  }
}

const login = (section: Section, body: unknown) => fixture.post(`/api/v1/public/${section}/login`, body)

const WRONG = { code: 400, success: false, data: null, message: 'Wrong username or password' }

/** The same ciphertext with one bit of one byte turned over. */
function flipped(hex: string, byte: number): string {
  const bytes = Buffer.from(hex, 'hex')
  const at = byte < 0 ? bytes.length + byte : byte
  bytes[at] = bytes[at]! ^ 1
  return bytes.toString('hex')
}

/** Invalid passwords of this account; the answer is that to a wrong password. */
const PASSWORDS: Readonly<Record<string, (section: Section) => string>> = {
  'plain text': () => ADMIN.password,
  'no hex': section => `zz${encrypt(ADMIN.password, section).slice(2)}`,
  'an odd number of digits': section => encrypt(ADMIN.password, section).slice(1),
  'too few digits': () => 'ab'.repeat(40),
  'only the overhead of a ciphertext': section => encrypt(ADMIN.password, section).slice(0, 192),
  'the other order of parts, C1C2C3': section => encrypt(ADMIN.password, section, 0),
  'another bit in C1': section => flipped(encrypt(ADMIN.password, section), 3),
  'another bit in C3': section => flipped(encrypt(ADMIN.password, section), 70),
  'another bit in C2': section => flipped(encrypt(ADMIN.password, section), -1),
  'a C1 that is not a point of the curve': section => '11'.repeat(64) + encrypt(ADMIN.password, section).slice(128),
  'a C1 of zeros, as the point at infinity': section => '00'.repeat(64) + encrypt(ADMIN.password, section).slice(128),
  'a C1 beyond the field': section => 'ff'.repeat(64) + encrypt(ADMIN.password, section).slice(128),
  'a point in compressed form': section => `02${encrypt(ADMIN.password, section).slice(0, 64)}${'0'.repeat(80)}`,
  'a line end behind it': section => `${encrypt(ADMIN.password, section)}\n`,
  'a space before it': section => ` ${encrypt(ADMIN.password, section)}`,
  'nothing, encrypted': section => encrypt(new Uint8Array(), section),
  'bytes that are no UTF-8': section => encrypt(Uint8Array.of(0xff, 0xfe, 0xc0, 0x80), section),
  'half a surrogate': section => encrypt(Uint8Array.of(0xed, 0xa0, 0x80), section),
  'a NUL behind the right password': section => encrypt(`${ADMIN.password}\0`, section),
  'a NUL and more behind the right password': section => encrypt(`${ADMIN.password}\0x`, section),
  '73 bytes': section => encrypt('x'.repeat(73), section),
  'three kilobytes': section => encrypt('x'.repeat(3000), section),
  'the hash itself': section => encrypt('$2b$12$abcdefghijklmnopqrstuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu', section),
  'an encryption for another key': () => sm2.doEncrypt(ADMIN.password, sm2.generateKeyPairHex().publicKey, 1),
  'an empty text': () => '',
}

const NAMES: Readonly<Record<string, string>> = {
  'an unknown one': 'nobody',
  nothing: '',
  'a thousand characters': 'a'.repeat(1000),
  'a NUL': 'admin\0',
  'a line end': 'admin\n',
  'half a surrogate': 'admin\ud800',
  'a name of object prototypes': '__proto__',
  'another name of object prototypes': 'constructor',
  'a wildcard': '*',
  'a quote': "admin' OR '1'='1",
  'a comment': "admin'--",
  'a key of the store': 'svc:auth:BUSINESS:token:x',
  'a directory': '../../etc/passwd',
}

for (const section of SECTIONS) {
  t.test(`${section}: the right password is accepted after all variants`, async t => {
    t.equal((await login(section, await credentials(section))).json().code, 200)
  })

  for (const [name, make] of Object.entries(PASSWORDS)) {
    t.test(`${section}: a password that is ${name} is refused as wrong`, async t => {
      const answer = await login(section, { ...(await credentials(section)), password: make(section) })
      t.equal(answer.status, 200)
      t.match(answer.json(), WRONG)
    })
  }

  for (const [name, username] of Object.entries(NAMES)) {
    t.test(`${section}: a username that is ${name} is answered like a wrong password`, async t => {
      const answer = await login(section, { ...(await credentials(section)), username })
      t.equal(answer.status, 200)
      t.match(answer.json(), WRONG)
    })
  }

  t.test(`${section}: a field of the wrong type is refused`, async t => {
    // Checked before anything is used up: the captcha stays.
    const right = await credentials(section)
    for (const field of ['captcha_id', 'captcha_value', 'captcha_code', 'username', 'password', 'device_id']) {
      for (const value of [0, 12, 1.5, true, false, [], ['b'], [[]], {}, { toString: 'x' }, { length: 4 }]) {
        const answer = await login(section, { ...right, [field]: value })
        t.match(answer.json(), { code: 400, message: `${field}: must be a string`, data: null }, field)
      }
      // Beyond what a double holds, and beyond what it is at all.
      for (const number of ['12345678901234567890123', '1e400', '-0']) {
        const body = JSON.stringify({ ...right, [field]: '@' }).replace('"@"', number)
        t.match((await login(section, body)).json(), { code: 400, message: `${field}: must be a string` })
      }
    }
    for (const field of ['username', 'password']) {
      const { [field]: _, ...rest } = right
      t.match((await login(section, rest)).json(), { code: 400, message: `${field}: is missing` })
      t.match((await login(section, { ...rest, [field]: null })).json(), { code: 400, message: `${field}: is missing` })
    }
    t.equal((await login(section, right)).json().code, 200)
  })

  t.test(`${section}: a body that is not a JSON object is refused`, async t => {
    const bodies = [
      '',
      'null',
      '[]',
      '"x"',
      '12',
      'true',
      '{',
      '{"a":1}}',
      '{"a"',
      "{'a':1}",
      '\ufeff{}',
      'NaN',
      '[[[[',
    ]
    for (const body of bodies) {
      const answer = await login(section, body)
      t.equal(answer.status, 200, body)
      t.match(answer.json(), { code: 400, success: false, data: null }, body)
    }
    const deep = `{"username":${'['.repeat(3900)}${']'.repeat(3900)}}`
    t.match((await login(section, deep)).json(), { code: 400, success: false })
    t.match((await login(section, `{"password":"${'a'.repeat(1_000_000)}"}`)).json(), { code: 413, success: false })
    const filled = (bytes: number): string =>
      JSON.stringify({ username: '' }).replace('""', `"${'a'.repeat(bytes - 15)}"`)
    t.match((await login(section, filled(8192))).json(), { code: 400, message: 'password: is missing' }, 'all of 8 KiB')
    t.match((await login(section, filled(8193))).json(), { code: 413, success: false }, 'and one byte')
    const form = await fixture.call({
      method: 'POST',
      path: `/api/v1/public/${section}/login`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'username=admin&password=x',
    })
    t.match(form.json(), { code: 400, success: false })
  })

  t.test(`${section}: names of object prototypes are not fields`, async t => {
    const body = JSON.stringify({ ...(await credentials(section)), '@': 1 })
    for (const poison of ['"__proto__":{"admin":true}', '"constructor":{"prototype":{"admin":true}}']) {
      const fresh = JSON.stringify({ ...(await credentials(section)), '@': 1 }).replace('"@":1', poison)
      t.equal((await login(section, fresh)).json().code, 200)
    }
    const { captcha_id, captcha_value, ...rest } = JSON.parse(body)
    const hidden = { ...rest, __proto__: undefined }
    const onPrototype = JSON.stringify(hidden).replace(
      '{',
      `{"__proto__":${JSON.stringify({ captcha_id, captcha_value })},`,
    )
    t.match((await login(section, onPrototype)).json(), { code: 400, message: 'Captcha id or answer missing' })
    t.equal(({} as { admin?: unknown }).admin, undefined)
  })

  t.test(`${section}: a captcha is answered once, by its own id, on its own side`, async t => {
    const gone = { code: 400, message: 'Captcha expired or invalid', data: null }
    const blank = { code: 400, message: 'Captcha id or answer missing', data: null }
    const other = section === 'b' ? 'c' : 'b'
    const body = await credentials(section)
    for (const value of ['', ' ', '\t\n'])
      t.match((await login(section, { ...body, captcha_value: value })).json(), blank)
    t.match((await login(section, { ...body, captcha_id: '' })).json(), blank)
    const id = body.captcha_id as string
    for (const wrong of [
      `${id} `,
      id.toUpperCase().replace(/^/, 'x'),
      '*',
      `${id}\0`,
      '../x',
      'x'.repeat(4000),
      `x:${id}`,
    ]) {
      t.match((await login(section, { ...body, captcha_id: wrong })).json(), gone, wrong)
    }
    const foreign = await fixture.captcha(other)
    const mixed = { ...body, captcha_id: foreign.id, captcha_value: foreign.answer }
    t.match((await login(section, mixed)).json(), gone, 'the other side’s captcha')
    t.equal(
      (
        await login(other, { ...(await credentials(other)), captcha_id: foreign.id, captcha_value: foreign.answer })
      ).json().code,
      200,
      'it is still there on its own',
    )
    const twice = await Promise.all([login(section, body), login(section, body), login(section, body)])
    t.same(twice.map(answer => answer.json().code).sort(), [200, 400, 400], 'of several at once one succeeds')
  })
}

t.test('a device id never reaches the session as what a database or a parser of JSON refuses', async t => {
  const rows: [sent: string, stored: string][] = [
    ['\ud800', ''],
    ['a\udc00b', 'ab'],
    ['\0x\n\u001b[2J\u0085y', 'x[2Jy'],
    [`${'a'.repeat(127)}😀😀`, `${'a'.repeat(127)}😀`],
  ]
  for (const [device_id, stored] of rows) {
    const { token } = (await login('b', { ...(await credentials('b')), device_id })).json().data
    const session = await fixture.store.sessions.find('BUSINESS', token)
    t.equal(session?.extra.device_id, stored, JSON.stringify(device_id))
  }
})

t.test('none of these inputs caused a fault of the gateway', async t => {
  t.notOk(fixture.log.some(line => line.includes('internal fault')))
})
