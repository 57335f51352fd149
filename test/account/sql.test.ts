import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import type { HashSource } from '../../src/account/hash-accounts.ts'
import { createSqlAccounts, type SqlAccountsSettings } from '../../src/account/sql/source.ts'
import { type DatabaseKind, type DatabaseServer, missingDatabase, startDatabase } from '../support/database-server.ts'
import { HASH, hashContract, reasonOf, type StoredAccount } from './source-contract.ts'

/** Where the two speak differently. */
interface Dialect {
  text: string
  bytes: string
  sleep(seconds: number): string
  /** How many statements with this word in them are running. */
  running(word: string): string
  /** A function `touch()` that writes to the table `touched`. */
  touch: string[]
}

const DIALECTS: Record<DatabaseKind, Dialect> = {
  postgres: {
    text: 'text',
    bytes: 'bytea',
    sleep: seconds => `pg_sleep(${seconds})`,
    running: word =>
      `SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%${word}%'`,
    touch: [
      'CREATE OR REPLACE FUNCTION touch() RETURNS text LANGUAGE plpgsql AS $$ BEGIN INSERT INTO touched VALUES (1); RETURN 1; END $$',
    ],
  },
  mysql: {
    text: 'varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    bytes: 'varbinary(255)',
    sleep: seconds => `SLEEP(${seconds})`,
    running: word =>
      `SELECT count(*) AS n FROM information_schema.processlist WHERE command IN ('Query', 'Execute') AND id <> connection_id() AND info LIKE '%${word}%'`,
    touch: [
      'CREATE FUNCTION touch() RETURNS int DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO touched VALUES (1); RETURN 1; END',
    ],
  },
}

for (const kind of ['postgres', 'mysql'] as const) {
  t.test(kind, { skip: missingDatabase(kind) }, async t => {
    const server = await startDatabase(kind)
    t.teardown(() => server.stop())
    const fixture = { kind, server, dialect: DIALECTS[kind] }
    await hashContract(t, kind, async (t, accounts) => openTable(t, fixture, accounts))
    await columnLaw(t, fixture)
    await faultLaw(t, fixture)
    await readOnlyLaw(t, fixture)
    await timeLaw(t, fixture)
    await connectionLaw(t, fixture)
    await updateLaw(t, fixture)
  })
}

interface Fixture {
  kind: DatabaseKind
  server: DatabaseServer
  dialect: Dialect
}

function open(
  t: Test,
  url: string,
  query: string,
  settings: Partial<Pick<SqlAccountsSettings, 'timeout' | 'pool' | 'rights_query' | 'update'>> = {},
) {
  const source = createSqlAccounts({ kind: 'sql', url, query, timeout: 10_000, pool: 2, ...settings })
  // The clients received the failure to open.
  t.teardown(async () => (await source.catch(() => null))?.close())
  return {
    find: async (name: string) => (await source).find(name),
    findRights: async (id: string) => (await source).findRights(id),
    close: async () => (await source).close(),
  }
}

let tables = 0

/** A table of its own with these accounts, as an operator might have one, and a source that reads it. */
async function openTable(t: Test, { server, dialect: { text } }: Fixture, accounts: StoredAccount[]) {
  const table = `dualgate_accounts_${process.pid}_${tables++}`
  const columns = ['id', 'username', 'password', 'status', 'service', 'nickname', 'roles', 'permissions']
  await server.run(`CREATE TABLE ${table} (${columns.map(name => `${name} ${text}`).join(', ')})`)
  t.teardown(() => server.run(`DROP TABLE ${table}`))
  if (accounts.length > 0) {
    const rows = accounts.map(account => [
      account.id,
      account.username,
      account.password,
      account.status,
      account.service === true ? 'true' : null,
      account.nickname ?? null,
      account.roles === undefined ? null : JSON.stringify(account.roles),
      account.permissions?.join(', ') ?? null,
    ])
    await server.run(`INSERT INTO ${table} VALUES ${rows.map(row => `(${row.map(literal).join(', ')})`).join(', ')}`)
  }
  const select = `SELECT ${columns.join(', ')} FROM ${table}`
  return open(t, server.url, `${select} WHERE username = :username`, { rights_query: `${select} WHERE id = :id` })

  function literal(value: string | null): string {
    if (value === null) return 'NULL'
    const hex = Buffer.from(value).toString('hex')
    return text === 'text' ? `convert_from('\\x${hex}', 'UTF8')` : `CONVERT(X'${hex}' USING utf8mb4)`
  }
}

/** A query that needs no table: the named expressions as one row, for every name but "nobody". */
function row(columns: Record<string, string>, also = '', where = `:username <> 'nobody'`): string {
  const given = { id: `'1'`, username: `'admin'`, password: `'${HASH}'`, status: `'ACTIVE'`, ...columns }
  const listed = Object.entries(given).map(([name, expression]) => `${expression} AS ${name}`)
  return `SELECT ${listed.join(', ')} ${also} FROM (SELECT 1 AS one) AS t WHERE ${where}`
}

async function columnLaw(t: Test, { kind, server }: Fixture): Promise<void> {
  const found = async (t: Test, columns: Record<string, string>) => open(t, server.url, row(columns)).find('admin')

  await t.test('columns too large for a session are left out, the largest first, and the others stay', async t => {
    const account = await found(t, { avatar: `REPEAT('x', 600000)`, story: `REPEAT('y', 7000)`, nickname: `'Ada'` })
    t.same(account?.leftOut, { columns: ['avatar', 'story'], source: 'sql' })
    t.match(account?.extra, { nickname: 'Ada' })
    t.notOk('avatar' in account!.extra)
    t.equal((await found(t, { story: `REPEAT('y', 5000)` }))?.leftOut, undefined)
  })

  await t.test('an id that is a number arrives digit by digit', async t => {
    const big = kind === 'postgres' ? 'CAST(9007199254740993 AS bigint)' : 'CAST(9007199254740993 AS signed)'
    t.equal((await found(t, { id: big }))?.id, '9007199254740993')
    t.equal((await found(t, { id: '17' }))?.id, '17')
    const largest =
      kind === 'postgres' ? 'CAST(9223372036854775807 AS bigint)' : 'CAST(18446744073709551615 AS unsigned)'
    t.equal((await found(t, { id: largest }))?.id, kind === 'postgres' ? '9223372036854775807' : '18446744073709551615')
  })

  await t.test('only ACTIVE and LOCKED keep their meaning; any other status prevents a login', async t => {
    for (const status of ['1', '0', `'active'`, `'LOCKED '`, `'enabled'`, 'NULL', `''`]) {
      t.equal((await found(t, { status }))?.status, 'INACTIVE', status)
    }
  })

  await t.test('an account without a password exists, with a hash that no password matches', async t => {
    t.equal((await found(t, { password: 'NULL' }))?.passwordHash, '')
    t.equal((await found(t, { password: `'letmein'` }))?.passwordHash, 'letmein')
  })

  await t.test('binary columns are read as the text they hold', async t => {
    const bytes = (text: string) =>
      kind === 'postgres' ? `convert_to('${text}', 'UTF8')` : `CAST('${text}' AS binary)`
    const account = await found(t, { id: bytes('17'), password: bytes(HASH), nickname: bytes('管理员') })
    t.match(account, { id: '17', passwordHash: HASH, extra: { nickname: '管理员' } })
  })

  await t.test('roles and permissions are read as lists in every common form', async t => {
    const forms = [`'["a", "b:c"]'`, `'a,b:c'`, `' a , b:c ,'`]
    if (kind === 'postgres') {
      await server.run(`CREATE TYPE role_of_staff AS ENUM ('a', 'b:c', 'of "two", \\or')`)
      t.teardown(() => server.run('DROP TYPE role_of_staff'))
      const other = `ARRAY['of "two", \\or', 'a']::role_of_staff[]`
      t.same((await found(t, { roles: other }))?.extra, { roles: ['of "two", \\or', 'a'] })
      t.same((await found(t, { roles: `'{}'::role_of_staff[]` }))?.extra, { roles: [] })
    }
    if (kind === 'postgres')
      forms.push(
        `ARRAY['a', 'b:c']`,
        `ARRAY['a', 'b:c']::varchar[]`,
        `'["a", "b:c"]'::jsonb`,
        `'["a", 7, "b:c"]'::json`,
        `ARRAY['a', NULL, 'b:c']::name[]`,
        `ARRAY['a', 'b:c']::role_of_staff[]`,
      )
    else forms.push(`JSON_ARRAY('a', 'b:c')`)
    for (const form of forms) {
      t.same(
        (await found(t, { roles: form, permissions: form }))?.extra,
        { roles: ['a', 'b:c'], permissions: ['a', 'b:c'] },
        form,
      )
    }
    t.same((await found(t, { roles: `''`, permissions: 'NULL' }))?.extra, { roles: [] })
  })

  await t.test('further columns go into the session as values that JSON has', async t => {
    const time = kind === 'postgres' ? `timestamp '2025-01-31 12:00:00'` : `CAST('2025-01-31 12:00:00' AS datetime)`
    const account = await found(t, { since: time, level: '3', nothing: 'NULL', dept: `'北京'` })
    t.same(account?.extra, { since: '2025-01-31 12:00:00', level: 3, dept: '北京' })
  })

  await t.test('a placeholder may occur more than once', async t => {
    const query = `${row({})} AND (:username = 'admin' OR :username = 'admin@example.com')`
    const source = open(t, server.url, query)
    t.equal((await source.find('admin@example.com'))?.id, '1')
    t.equal(await source.find('other'), null)
  })
}

async function faultLaw(t: Test, { kind, server }: Fixture): Promise<void> {
  const quoted = (name: string) => (kind === 'postgres' ? `"${name}"` : `\`${name}\``)
  const broken: Record<string, string> = {
    'two rows for one name': `${row({})} UNION ALL ${row({ id: `'2'` })}`,
    'two ids': row({}, `, '2' AS id`),
    'two ids that differ in case': row({}, `, '2' AS ${quoted('ID')}`),
    'two of another column': row({ dept: `'a'` }, `, 'b' AS dept`),
    'no id': row({}).replace(`'1' AS id`, `'1' AS number`),
    'no status': row({}).replace('AS status', 'AS state'),
    'no password': row({}).replace('AS password', 'AS secret'),
    'an id that is null': row({ id: 'NULL' }),
    'an empty id': row({ id: `''` }),
    'an id that does not fit a header': row({ id: `'a b'` }),
    'an id with a line break': row({ id: kind === 'postgres' ? `E'1\\n'` : `'1\\n'` }),
    'a name that is null': row({ username: 'NULL' }),
    'roles that begin like JSON': row({ roles: `'["a"'` }),
    'roles that begin like an array': row({ roles: `'{"a"'` }),
    'roles that are a number': row({ roles: '7' }),
    'a picture': row({ picture: kind === 'postgres' ? `'\\xff00'::bytea` : `X'FF00'` }),
    'no table': 'SELECT id, username, password, status FROM no_such_table WHERE username = :username',
    'a placeholder in a text': row({}, '', `'a' <> ' :username '`),
    'two statements': `${row({})}; ${row({ id: `'2'` })}`,
  }
  for (const [what, query] of Object.entries(broken)) {
    await t.test(`${what}: a failure of the source, never a wrong password`, async t => {
      t.equal(await reasonOf(open(t, server.url, query).find('admin')), 'UNAVAILABLE')
    })
  }

  await t.test('a fault contains neither the requested name nor the URL', async t => {
    const url = new URL(server.url)
    const queries = [
      row(
        {},
        '',
        kind === 'postgres' ? 'CAST(:username AS integer) = 1' : 'JSON_VALUE(CHAR(0), :username) = 1 AND no_such = 1',
      ),
      'SELECT id FROM no_such_table WHERE username = :username',
      row({ id: 'NULL' }),
    ]
    for (const query of queries) {
      const fault: unknown = await open(t, server.url, query)
        .find('my-password-by-mistake')
        .catch(error => error)
      const told = inspect(fault, { depth: 9, showHidden: true })
      t.notMatch(told, 'my-password-by-mistake')
      t.notMatch(told, decodeURIComponent(url.password))
      t.notMatch(told, url.password)
    }
  })

  if (kind === 'postgres') {
    await t.test('a name that the database cannot represent is absent', async t => {
      t.equal(await reasonOf(open(t, server.url, row({})).find('admin\0')), 'answered null')
    })
  }
}

async function readOnlyLaw(t: Test, { kind, server, dialect }: Fixture): Promise<void> {
  await t.test('a query cannot write', async t => {
    await server.run('CREATE TABLE touched (one int)', ...dialect.touch)
    t.teardown(() => server.run('DROP FUNCTION touch', 'DROP TABLE touched'))
    const queries = [row({ touched: 'touch()' })]
    if (kind === 'postgres') queries.push(`WITH w AS (INSERT INTO touched VALUES (1) RETURNING one) ${row({})}`)
    for (const query of queries) t.equal(await reasonOf(open(t, server.url, query).find('admin')), 'UNAVAILABLE')
    t.equal(Number((await server.run('SELECT count(*) AS n FROM touched'))[0]!.n), 0)
    await server.run(row({ touched: 'touch()' }, '', '1 = 1'))
    t.equal(Number((await server.run('SELECT count(*) AS n FROM touched'))[0]!.n), 1, 'the function does write')
  })
}

/** What a source answers as soon as it answers again. */
async function answers(source: HashSource, username: string): Promise<string> {
  for (;;) {
    const answer = await reasonOf(source.find(username))
    if (answer !== 'UNAVAILABLE' && answer !== 'BUSY') return answer
  }
}

async function timeLaw(t: Test, { server, dialect }: Fixture): Promise<void> {
  const slow = (word: string) =>
    row({ slept: `CASE WHEN :username = 'quick' THEN NULL ELSE ${dialect.sleep(60)} END`, word: `'${word}'` })

  await t.test('a slow query ends with a timeout, in the gateway and in the database', async t => {
    const source = open(t, server.url, slow('tortoise'), { timeout: 500 })
    t.equal(await reasonOf(source.find('admin')), 'UNAVAILABLE')
    for (;;) {
      const [counted] = await server.run(dialect.running('tortoise'))
      if (Number(counted!.n) === 0) break
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    t.match(await answers(source, 'quick'), '"id":"1"', 'and the source goes on answering')
  })

  await t.test('time in the queue counts towards the timeout', async t => {
    const source = open(t, server.url, slow('snail'), { timeout: 500, pool: 1 })
    const names = Array.from({ length: 20 }, (_, index) => `user${index}`)
    t.same(await Promise.all(names.map(name => reasonOf(source.find(name)))), Array(20).fill('UNAVAILABLE'))
    t.match(await answers(source, 'quick'), '"id":"1"')
  })

  await t.test('beyond the limit of simultaneous queries further ones are refused as busy', async t => {
    const source = open(t, server.url, slow('crowd'), { timeout: 1000, pool: 2 })
    const reasons = Array.from({ length: 67 }, () => reasonOf(source.find('admin')))
    t.equal(await reasons.at(-1), 'BUSY')
    t.same([...new Set(await Promise.all(reasons.slice(0, -1)))], ['UNAVAILABLE'])
    t.match(await answers(source, 'quick'), '"id":"1"')
  })
}

async function connectionLaw(t: Test, { kind, server, dialect }: Fixture): Promise<void> {
  const { own } = server
  const shared = own === null && 'LEFT OUT: the server is not the test’s own'
  await t.test(
    'a database that is down does not prevent the start, and is used again when it is back',
    { skip: shared },
    async t => {
      const wide = { timeout: 30_000 }
      const source = open(
        t,
        server.url,
        row({ slept: `CASE WHEN :username = 'slow' THEN ${dialect.sleep(60)} ELSE NULL END` }),
        wide,
      )
      t.equal((await source.find('admin'))?.id, '1')
      const inFlight = reasonOf(source.find('slow'))
      for (let n = 0; n === 0; ) n = Number((await server.run(dialect.running('60')))[0]!.n)
      await own!.kill()
      t.equal(await inFlight, 'UNAVAILABLE', 'killed in mid-flight')
      const late = open(t, server.url, row({}), wide)
      for (let round = 0; round < 8; round++) {
        t.equal(await reasonOf(source.find('admin')), 'UNAVAILABLE')
        t.equal(await reasonOf(late.find('admin')), 'UNAVAILABLE')
      }
      await own!.restart()
      t.equal((await source.find('admin'))?.id, '1')
      t.equal((await late.find('admin'))?.id, '1')
    },
  )

  await t.test('a wrong password for the database is a failure of the source, and stays a secret', async t => {
    const url = new URL(server.url)
    url.password = 'not%20the%20password'
    const source = open(t, url.href, row({}))
    for (let round = 0; round < 5; round++) {
      const fault: unknown = await source.find('admin').catch(error => error)
      t.equal(await reasonOf(Promise.reject(fault)), 'UNAVAILABLE')
      t.notMatch(inspect(fault, { depth: 9, showHidden: true }), 'not the password')
    }
  })

  const bare = !own?.certificate && 'LEFT OUT: no server of the test’s own with a certificate'
  await t.test('TLS is verified unless the URL disables it', { skip: bare }, async t => {
    const certificate = own?.certificate
    const ask = (host: string, parameters: string) => {
      const url = new URL(server.url)
      url.hostname = host
      url.search = parameters
      const encrypted =
        kind === 'postgres'
          ? '(SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())'
          : `(SELECT variable_value <> '' FROM information_schema.session_status WHERE variable_name = 'Ssl_cipher')`
      const asked = async () => (await open(t, url.href, row({ encrypted })).find('admin'))?.extra.encrypted
      return reasonOf(asked().then(Boolean))
    }
    t.equal(await ask('127.0.0.1', ''), 'answered false')
    t.equal(await ask('127.0.0.1', '?sslmode=no-verify'), 'answered true')
    t.equal(await ask('localhost', '?sslmode=require'), 'UNAVAILABLE', 'the certificate is not trusted')
    t.equal(await ask('localhost', `?sslmode=require&sslrootcert=${certificate}`), 'answered true')
    const otherHost = await ask('127.0.0.1', `?sslmode=require&sslrootcert=${certificate}`)
    t.match(
      otherHost,
      kind === 'postgres' ? 'UNAVAILABLE' : 'must be a name, not an address',
      'the certificate is for localhost',
    )
  })
}

/** A table with two accounts, and a source that may change them. */
async function openUpdatable(t: Test, { kind, server }: Fixture, update: SqlAccountsSettings['update'] = {}) {
  const table = `dualgate_staff_${process.pid}_${tables++}`
  const time = kind === 'postgres' ? 'timestamptz' : 'datetime(3)'
  await server.run(
    `CREATE TABLE ${table} (id bigint PRIMARY KEY, username varchar(64), password varchar(80), status varchar(10), second_factor varchar(4096), password_changed_at ${time}, must_change_password boolean)`,
    `INSERT INTO ${table} VALUES (1, 'ann', '${HASH}', 'ACTIVE', NULL, NULL, true), (2, 'bob', '${HASH}', 'ACTIVE', NULL, NULL, false)`,
  )
  t.teardown(() => server.run(`DROP TABLE ${table}`))
  const now = kind === 'postgres' ? 'now()' : 'UTC_TIMESTAMP(3)'
  const statements = {
    password: `UPDATE ${table} SET password = :password, password_changed_at = ${now}, must_change_password = false WHERE id = :id`,
    second_factor: `UPDATE ${table} SET second_factor = :second_factor WHERE id = :id`,
    ...update,
  }
  const filled = Object.entries(statements).map(([name, text]) => [name, text.replaceAll('TABLE_NAME', table)])
  const query = `SELECT * FROM ${table} WHERE username = :username`
  const settings = { kind: 'sql' as const, url: server.url, timeout: 10_000, pool: 2 }
  const source = await createSqlAccounts({ ...settings, query, update: Object.fromEntries(filled) })
  t.teardown(() => source.close())
  const rows = () => server.run(`SELECT id, password, second_factor FROM ${table} ORDER BY id`)
  return { source, updates: source.updates!, rows, table }
}

const OTHER_HASH = HASH.replace(/.{4}$/, 'abcd')
const CHANGED = { hash: OTHER_HASH, changedAt: 0, mustChange: false }

async function updateLaw(t: Test, fixture: Fixture): Promise<void> {
  await t.test('a new password and a second factor are stored for one account, and read again', async t => {
    const { source, updates, rows } = await openUpdatable(t, fixture)
    t.same([...updates.can], ['password', 'second-factor'])
    t.match(await source.find('ann'), { mustChangePassword: true })
    t.equal(await updates.setPassword('1', CHANGED), true)
    t.equal(await updates.setSecondFactor('1', 'abcdefghijkl.SEALED', null), true)
    const ann = await source.find('ann')
    t.match(ann, { passwordHash: OTHER_HASH, secondFactor: 'abcdefghijkl.SEALED' })
    t.notOk(Object.hasOwn(ann!, 'mustChangePassword'))
    t.ok(Math.abs(ann!.passwordChangedAt! - Date.now()) < 60_000, 'the time of the database')
    t.same(Object.keys(ann!.extra), [])
    t.match((await rows())[1], { password: HASH, second_factor: null }, 'the other account is as it was')
    t.equal(await updates.setSecondFactor('1', null, 'abcdefghijkl.SEALED'), true)
    t.equal(await updates.setSecondFactor('1', null, null), true, 'also where nothing changes')
    t.notOk(Object.hasOwn((await source.find('ann'))!, 'secondFactor'))
  })

  await t.test('an account that is gone is not changed', async t => {
    const { updates } = await openUpdatable(t, fixture)
    t.equal(await updates.setPassword('3', CHANGED), false)
    t.equal(await updates.setSecondFactor('3', 'abcdefghijkl.SEALED', null), false)
  })

  await t.test(
    'a statement that compares stores a password only in the place of the one that was verified',
    async t => {
      const { updates, rows } = await openUpdatable(t, fixture, {
        password: 'UPDATE TABLE_NAME SET password = :password WHERE id = :id AND password = :password_before',
      })
      await updates.check!()
      t.equal(await updates.setPassword('1', { ...CHANGED, before: OTHER_HASH }), false)
      t.match(await rows(), [{ password: HASH }, { password: HASH }])
      t.equal(await updates.setPassword('1', { ...CHANGED, before: HASH }), true)
      t.match(await rows(), [{ password: OTHER_HASH }, { password: HASH }])
    },
  )

  await t.test('a statement that compares stores a second factor only in the place of the expected one', async t => {
    const equal = fixture.kind === 'postgres' ? 'IS NOT DISTINCT FROM' : '<=>'
    const { updates, rows } = await openUpdatable(t, fixture, {
      second_factor: `UPDATE TABLE_NAME SET second_factor = :second_factor WHERE id = :id AND second_factor ${equal} :second_factor_before`,
    })
    await updates.check!()
    t.equal(await updates.setSecondFactor('1', 'first', 'other'), false)
    const both = await Promise.all(['first', 'second'].map(text => updates.setSecondFactor('1', text, null)))
    t.same(both.toSorted(), [false, true], 'of two gateways one stores its own')
    const stored = both[0] ? 'first' : 'second'
    t.match(await rows(), [{ second_factor: stored }, { second_factor: null }])
    t.equal(await updates.setSecondFactor('1', 'third', stored), true)
  })

  await t.test('values are parameters, whatever they contain', async t => {
    const { updates, rows } = await openUpdatable(t, fixture)
    const awkward = `x', password = 'y' WHERE 1 = 1 -- :id ? $1`
    t.equal(await updates.setSecondFactor('1', awkward, null), true)
    t.match(await rows(), [{ second_factor: awkward }, { second_factor: null, password: HASH }])
  })

  await t.test('a statement that would change several accounts changes none', async t => {
    const { updates, rows } = await openUpdatable(t, fixture, {
      password: 'UPDATE TABLE_NAME SET password = :password WHERE id >= 1 OR id = :id',
    })
    t.equal(await reasonOf(updates.setPassword('1', CHANGED)), 'UNAVAILABLE')
    t.match(await rows(), [{ password: HASH }, { password: HASH }])
  })

  await t.test('what the database does not accept fails, shows no value, and is found without a change', async t => {
    const broken = {
      'a column that does not exist': 'UPDATE TABLE_NAME SET secret = :password WHERE id = :id',
      'a table that does not exist': 'UPDATE no_such_table SET password = :password WHERE id = :id',
      'a placeholder in quotes': "UPDATE TABLE_NAME SET password = :password WHERE 'a' <> ' :id '",
      'no SQL': 'UPDATE TABLE_NAME WHERE :password :id',
    }
    for (const [what, password] of Object.entries(broken)) {
      const { updates, rows } = await openUpdatable(t, fixture, { password })
      t.equal(await reasonOf(updates.check!()), 'UNAVAILABLE', what)
      const fault = await updates.setPassword('1', CHANGED).catch((fault: unknown) => fault)
      t.match(fault, { reason: 'UNAVAILABLE' }, what)
      t.notMatch(inspect(fault, { depth: 9, showHidden: true }), OTHER_HASH.slice(7))
      t.match(await rows(), [{ password: HASH }, { password: HASH }])
    }
    const { updates, rows } = await openUpdatable(t, fixture)
    await updates.check!()
    t.match(await rows(), [{ password: HASH }, { password: HASH }])
  })

  await t.test('a query without the second factor that is stored fails, so that it is never passed over', async t => {
    const update = { second_factor: 'UPDATE t SET second_factor = :second_factor WHERE id = :id' }
    for (const name of ['admin', 'nobody'])
      t.equal(await reasonOf(open(t, fixture.server.url, row({}), { update }).find(name)), 'UNAVAILABLE')
  })

  await t.test('without statements nothing can be changed', async t => {
    const settings = { kind: 'sql' as const, url: fixture.server.url, timeout: 1000, pool: 1, query: row({}) }
    for (const update of [undefined, {}]) {
      const source = await createSqlAccounts({ ...settings, ...(update !== undefined && { update }) })
      t.teardown(() => source.close())
      t.equal(source.updates, undefined)
    }
  })
}

t.test('an invalid URL is refused at once, and is not shown', async t => {
  const urls = [
    'postgres://gate:hush@host:99999/accounts',
    'postgres://gate:hush%zz@host/accounts',
    'oracle://gate:hush@host/accounts',
    'mysql://gate:hush@host/accounts?sslmode=maybe',
    'hush',
  ]
  for (const url of urls) {
    try {
      await createSqlAccounts({ kind: 'sql', url, query: row({}), timeout: 1000, pool: 1 })
      t.fail(url)
    } catch (fault) {
      t.match(fault, { name: 'ConfigurationError' })
      t.notMatch(inspect(fault), 'hush')
    }
  }
})
