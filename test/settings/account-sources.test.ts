import t from 'tap'
import { faultsOf, GOOD_KEY } from './folder.ts'

/* Which sources of accounts go together, and with what. */

t.test('the sides share no accounts of a database or a backend, and may share a database', async t => {
  const query = 'SELECT id FROM a WHERE x = :username'
  const both = (source: object, others: object) =>
    faultsOf(t, JSON.stringify({ accounts: source, login: { consumer: { ...source, ...others } } }))
  const sql = { kind: 'sql', url: 'postgres://a:b@c/d', query }
  t.match(both(sql, {}), [/login\.consumer\.query: finds the B-side accounts/])
  t.same(both(sql, { query: query.replace('FROM a', 'FROM b') }), [])
  t.same(both(sql, { url: 'postgres://a:b@c/e' }), [])
  const http = { kind: 'http', url: 'http://127.0.0.1:1/a', secret: GOOD_KEY }
  t.match(both(http, {}), [/login\.consumer\.url: returns the B-side accounts/])
  t.same(both(http, { url: 'http://127.0.0.1:1/b' }), [])
})

t.test('a second factor cannot be required of accounts whose source stores none', async t => {
  const sql = "{ kind: sql, url: 'postgres://a:b@c/d', query: 'SELECT 1 WHERE x = :username' }"
  for (const value of ['all', '[admin]']) {
    t.match(faultsOf(t, `login: { second_factor: { for: ${value} } }\naccounts: ${sql}`), [
      /login\.second_factor\.for.*accounts on the business side, which are not stored; set update\.second_factor or update_url beside their source, or use optional/,
    ])
    t.match(faultsOf(t, `login: { second_factor: { for: ${value} }, consumer: ${sql} }`), [/on the consumer side/])
  }
  t.same(faultsOf(t, `login: { second_factor: { for: optional } }\naccounts: ${sql}`), [])
  t.same(faultsOf(t, 'login: { second_factor: { for: all } }'), [])
  t.match(faultsOf(t, 'login: { second_factor: { for: some, issuer: "a:b" } }'), [
    /for: must be off, optional, all, or a list of roles such as \[SUPER_ADMIN\]/,
    /issuer.*without colons/,
  ])
})

t.test('rights from accounts in SQL need a query of their own', async t => {
  const accounts = "{ kind: sql, url: 'postgres://a:b@c/d', query: 'SELECT 1 WHERE x = :username' }"
  const faults = faultsOf(t, `permissions: { source: accounts }\naccounts: ${accounts}`)
  t.match(faults, [/accounts\.rights_query.*is missing; permissions\.source: accounts needs it/])
})
