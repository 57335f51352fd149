import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { firstAccount, generateAccountId } from '../../src/account/file/source.ts'
import { clockOf } from '../support/clock.ts'
import { open } from './file-fixture.ts'

/* The account of a first start, and the ids that accounts get. */

t.test('a first start creates an administrator once, with a password without look-alike characters', async t => {
  const { path, find } = open(join(t.testdir(), 'config'))
  const starts = await Promise.all(Array.from({ length: 4 }, () => firstAccount(path)))
  const [first, ...others] = starts.filter(start => start !== null)
  t.same(others, [])
  t.match(first, { username: 'admin', password: /^[A-HJ-NP-Za-km-z2-9]{24}$/ })
  const admin = (await find('admin'))!
  t.match(admin, { id: /^\d{19}$/, status: 'ACTIVE', extra: { roles: ['SUPER_ADMIN'] } })
  t.equal(admin.passwordChangedAt, undefined, 'no user has chosen the password')
  t.ok(await bcrypt.compare(first!.password, admin.passwordHash))
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(await firstAccount(path), null)
  t.same(readdirSync(join(path, '..')), ['accounts.yaml'])
})

t.test('a start with an empty file is not a first start', async t => {
  const { path } = open(t.testdir(), '')
  t.equal(await firstAccount(path), null)
  t.equal(readFileSync(path, 'utf8'), '')
})

t.test('ids are snowflakes: 19 digits that grow with time and do not repeat', async t => {
  const ids = Array.from({ length: 1000 }, (_, i) => generateAccountId(clockOf(() => Date.UTC(2025, 0, 1) + i)))
  for (const id of ids) t.match(id, /^[1-9]\d{18}$/)
  t.same(ids, [...ids].sort())
  t.equal(new Set(ids).size, 1000)
})

t.test('an id has digits alone also where the clock begins in 1970', async t => {
  const ids = Array.from({ length: 1000 }, (_, i) => generateAccountId(clockOf(() => 1000 + i)))
  for (const id of ids) t.match(id, /^[1-9]\d*$/)
  t.equal(new Set(ids).size, 1000)
})
