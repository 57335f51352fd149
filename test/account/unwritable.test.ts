import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createFileAccounts } from '../../src/account/file/source.ts'
import { AGAIN } from '../../src/account/file/writability.ts'
import { faultOfReplacing } from '../../src/base/durable-file.ts'
import { Refusal } from '../../src/base/refusal.ts'
import { BESIDE, folderWith } from '../settings/folder.ts'
import { call } from '../support/client.ts'
import { clockOf } from '../support/clock.ts'
import { run } from '../support/command-line.ts'
import { ADMIN, type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { encrypt } from '../support/login-work.ts'
import { readOnly } from '../support/read-only.ts'

/* An accounts file that cannot be written: a read-only mount, missing rights, a full disk. */

const PLAIN = /^Accounts cannot be changed here now: their file cannot be written\. Ask an administrator$/

async function open(t: Test): Promise<{ fixture: Fixture; without: <T>(work: () => Promise<T>) => Promise<T> }> {
  const fixture = await openFixture(t)
  chmodSync(join(fixture.folder, 'accounts.yaml'), 0o644)
  return {
    fixture,
    async without(work) {
      const giveBack = readOnly(fixture.folder)
      try {
        return await work()
      } finally {
        giveBack()
      }
    },
  }
}

const warningsAt = async ({ internal }: Fixture): Promise<string[]> =>
  (await call(internal, { path: '/readyz' })).json().warnings.filter((text: string) => /accounts file/.test(text))

const add = (fixture: Fixture, token: string, username: string) =>
  fixture.post('/api/v1/sys/account/add', { username }, token)

t.test('a gateway offers no change that it cannot store, says why, and notices when it can', async t => {
  const { fixture, without } = await open(t)
  const token = await fixture.signIn()
  const canNow = async () => (await fixture.get('/api/v1/b/account', token)).json().data.can
  t.same(await canNow(), ['password', 'second-factor'])
  t.same(await warningsAt(fixture), [])
  const publicKey = (await fixture.get('/api/v1/public/b/sm2/public-key')).json().data
  const change = {
    current_password: encrypt(ADMIN.password, publicKey),
    new_password: encrypt('another one 77', publicKey),
  }

  await without(async () => {
    t.same(await canNow(), [])
    t.match(await warningsAt(fixture), [
      /^the accounts file cannot be written \((?:EPERM|EACCES)\): .*; let the user of the gateway/,
    ])
    for (const answer of [
      await add(fixture, token, 'ann'),
      await fixture.post('/api/v1/b/account/password', change, token),
      await fixture.post('/api/v1/b/account/second-factor/setup', { current_password: change.current_password }, token),
    ]) {
      t.equal(answer.status, 503)
      t.match(answer.json(), { code: 503, message: PLAIN })
      t.notMatch(answer.text, fixture.folder, 'no path')
    }
  })
  const lines = fixture.log
    .map(line => JSON.parse(line))
    .filter(({ path }) => path === join(fixture.folder, 'accounts.yaml'))
  t.match(lines, [{ level: 50, code: /^E/, msg: /cannot be written/ }], 'logged once, with its path')

  await fixture.elapse(AGAIN)
  t.same(await canNow(), ['password', 'second-factor'])
  t.equal((await add(fixture, token, 'ann')).json().code, 200)
  t.same(await warningsAt(fixture), [])
})

t.test('a user who must set a new password is sent to an administrator before typing one', async t => {
  const { fixture, without } = await open(t)
  const token = await fixture.signIn()
  const made = (await add(fixture, token, 'ann')).json().data
  const credentials = () => fixture.credentials('ann', made.password)
  const login = async (body: unknown) => (await fixture.post('/api/v1/public/b/login', body)).json()
  t.match(await login(await credentials()), { code: 403, data: { required: 'password' } })
  const last = await credentials()
  await without(async () => t.match(await login(last), { code: 503, message: PLAIN, data: null }))
  await fixture.elapse(AGAIN)
  t.match(await login(await credentials()), { code: 403, data: { required: 'password' } })
})

const ACCOUNTS =
  'accounts:\n  - { id: "1", username: ann, password: $2b$04$Vi2m2vXbGqbqVkGqjFQYYe2WuoHrpVAyuQLkTXTTPVzQd3AHbLpTi }\n'
const edit = { id: '1', set: { nickname: 'Ann' } }

function source(path: string) {
  const time = { now: 0 }
  const silent = { error() {}, info() {} }
  const { management, updates, close } = createFileAccounts(
    { kind: 'file', path },
    silent,
    clockOf(() => time.now),
  )
  t.teardown(() => close())
  return { management: management!, fault: () => updates!.fault!()?.message ?? null, time }
}

const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    fault => (fault instanceof Refusal ? fault.reason : fault),
  )

t.test('a place where the temporary file cannot be made is known before the first change', async t => {
  // Longer names are impossible, also for root.
  const folder = t.testdir()
  const path = join(folder, `${'a'.repeat(245)}.yaml`)
  writeFileSync(path, ACCOUNTS)
  t.equal(faultOfReplacing(path), null, 'its folder shows nothing')
  const { management, fault } = source(path)
  t.match(fault(), /cannot be written \(ENAMETOOLONG\)/)
  t.equal(await reasonOf(management.edit(() => ({ edit, result: null }))), 'ACCOUNTS_UNWRITABLE')
  t.equal(readFileSync(path, 'utf8'), ACCOUNTS)
})

t.test('a write that fails is remembered until an attempt succeeds', async t => {
  const folder = t.testdir()
  const path = join(folder, 'accounts.yaml')
  writeFileSync(path, ACCOUNTS)
  const { management, fault, time } = source(path)
  t.equal(fault(), null)
  for (const code of ['ENOSPC', 'EROFS', 'EACCES', 'EPERM']) {
    const failing = () => {
      throw Object.assign(new Error('no'), { code })
    }
    t.equal(await reasonOf(management.edit(failing)), 'ACCOUNTS_UNWRITABLE', code)
    t.match(fault(), code === 'ENOSPC' ? /\(ENOSPC\).*; free space/ : new RegExp(`\\(${code}\\)`))
    t.equal(await reasonOf(management.edit(() => ({ edit, result: null }))), 'ACCOUNTS_UNWRITABLE', 'not tried')
    time.now += AGAIN
    t.equal(fault(), null)
  }
  t.equal(await reasonOf(management.edit(() => ({ edit, result: null }))), 'done')
  t.same(readdirSync(folder), ['accounts.yaml'], 'no attempt leaves a file')
})

t.test('check warns of an accounts file that cannot be written, and changes nothing', async t => {
  const folder = folderWith(t, {
    ...BESIDE,
    'gateway.yaml':
      'accounts: { path: file/accounts.yaml }\nlogin: { consumer: { kind: file, path: folder/accounts.yaml } }\n',
    file: '',
  })
  mkdirSync(join(folder, 'folder'))
  const { code, output } = await run(folder, ['check', '--config', 'gateway.yaml'])
  t.equal(code, 0)
  t.match(
    output,
    /warning +\S+\/file\/accounts\.yaml cannot be written \((?:ENOTDIR|EACCES)\): .*; let the user of the gateway write/,
  )
  t.notMatch(output, /folder\/accounts\.yaml cannot/)
  t.same(readdirSync(join(folder, 'folder')), [])
})
