import t from 'tap'
import { createPageRules } from '../../src/gate/page-rules.ts'
import { type CanonicalPath, readTarget } from '../../src/gate/path.ts'
import { createUpstreamTable } from '../../src/upstream/table.ts'
import { upstreamSettings } from '../support/forward-fixture.ts'

const path = (text: string): CanonicalPath => readTarget(text).path
const TARGET = 'http://127.0.0.1:1'
const NO_PAGES = { pages: [] }

t.test('the longest prefix wins, and only where a segment ends', async t => {
  const matches = ['/api/v1/c', '/api/v1/c/orders', '/api/v1/c/orders/archive', '/api/v2']
  const table = createUpstreamTable(matches.map(match => upstreamSettings({ name: match, match, target: TARGET })))
  t.teardown(() => table.close())

  const FOUND: Record<string, string | null> = {
    '/api/v1/c': '/api/v1/c',
    '/api/v1/c/': '/api/v1/c',
    '/api/v1/c/x': '/api/v1/c',
    '/api/v1/c/orders': '/api/v1/c/orders',
    '/api/v1/c/orders/': '/api/v1/c/orders',
    '/api/v1/c/ordersx': '/api/v1/c',
    '/api/v1/c/orders/7/items': '/api/v1/c/orders',
    '/api/v1/c/orders/archive/7': '/api/v1/c/orders/archive',
    '/api/v1/c/orders/archives': '/api/v1/c/orders',
    '/api/v1/cx': null,
    '/api/v1': null,
    '/api/v2': '/api/v2',
    '/api/v22/x': null,
    '/': null,
    '/x': null,
  }
  for (const [asked, match] of Object.entries(FOUND))
    t.equal(table.find(path(asked), NO_PAGES)?.match ?? null, match, asked)
})

t.test('outside of /api an upstream is found where a page covers the path, and / matches every path', async t => {
  const table = createUpstreamTable(
    ['/', '/wiki', '/api/v1/c'].map(match => upstreamSettings({ name: match, match, target: TARGET })),
  )
  t.teardown(() => table.close())
  const pages = createPageRules([
    { path: '/wiki/*', needs: 'business' },
    { path: '/index.html', needs: 'none' },
  ])
  const FOUND: Record<string, string | null> = {
    '/wiki': '/wiki',
    '/wiki/a': '/wiki',
    '/index.html': '/',
    '/': null,
    '/elsewhere': null,
    '/api/v1/c/x': '/api/v1/c',
    '/api/v1/b/x': '/',
    '/api/x': null,
  }
  for (const [asked, match] of Object.entries(FOUND))
    t.equal(table.find(path(asked), { pages })?.match ?? null, match, asked)
  t.equal(table.find(path('/wiki/a'), NO_PAGES), null)
})

t.test('a path that a backend could read as another spelling of a longer match is not found', async t => {
  const matches = [
    '/',
    '/wiki',
    '/api/v1/sys',
    '/api/v1/sys/payments',
    '/api/v1/sys/Users',
    '/api/v1/c/a',
    '/api/v1/c/A',
  ]
  const table = createUpstreamTable(matches.map(match => upstreamSettings({ name: match, match, target: TARGET })))
  t.teardown(() => table.close())
  const pages = createPageRules([{ path: '/*', needs: 'none' }])
  const REFUSED = [
    '/api/v1/sys/Payments',
    '/api/v1/sys/PAYMENTS/7',
    '/api/v1/SYS/payments/7',
    '/api/v1/sys/payments./7',
    '/api/v1/sys/payments..',
    '/api/v1/sys/payments%20/7',
    '/api/v1/sys/%20payments',
    '/api/v1/sys/payment%C5%BF/7',
    '/api/v1/sys/users',
    '/api/v1/sys/users/7',
    '/api/v1/Sys/x',
    '/api/v1/C/a',
    '/Wiki/a',
    '/W%C4%B0ki/a',
    '/w%C4%B1ki/a',
    '/wiki.',
  ]
  for (const asked of REFUSED) t.equal(table.find(path(asked), { pages }), 'other-spelling', asked)
  const FOUND: Record<string, string> = {
    '/api/v1/sys/payments/A.%20b.': '/api/v1/sys/payments',
    '/api/v1/sys/Paymentsx': '/api/v1/sys',
    '/api/v1/sys/x/Payments': '/api/v1/sys',
    '/api/v1/sys/Users/7': '/api/v1/sys/Users',
    '/api/v1/c/a/b': '/api/v1/c/a',
    '/api/v1/c/A/b': '/api/v1/c/A',
    '/Index.html': '/',
  }
  for (const [asked, match] of Object.entries(FOUND)) t.equal(table.find(path(asked), { pages })?.match, match, asked)
})

t.test(
  'a path that a backend could read as a longer match with a suffix is not found, except outside of /api',
  async t => {
    const matches = ['/', '/wiki', '/api/v1/c/orders', '/api/v1/c/orders.csv', '/api/v1/c/v1.2']
    const table = createUpstreamTable(matches.map(match => upstreamSettings({ name: match, match, target: TARGET })))
    t.teardown(() => table.close())
    const pages = createPageRules([{ path: '/*', needs: 'none' }])
    const REFUSED = [
      '/api/v1/c/orders.json',
      '/api/v1/c/orders.json/',
      '/api/v1/c/Orders.JSON',
      '/api/v1/c/orders.a.b',
      '/api/v1/c/orders.',
      '/api/v1/c/orders.%C3%A9',
      '/api/v1/c/v1.2.json',
      '/api/v1/c/orders.csvx',
      '/api/v1/c/orders.csv.gz',
      `/api/v1/c/orders${'.a'.repeat(900)}`,
    ]
    for (const asked of REFUSED) t.equal(table.find(path(asked), { pages }), 'other-spelling', asked)
    const FOUND: Record<string, string> = {
      '/api/v1/c/orders.csv': '/api/v1/c/orders.csv',
      '/api/v1/c/orders.csv/7': '/api/v1/c/orders.csv',
      '/api/v1/c/orders/7.json': '/api/v1/c/orders',
      '/api/v1/c/orders.x/7': '/',
      '/api/v1/c/v1.3': '/',
      '/api/v1/c/x.json': '/',
      '/wiki.css': '/',
    }
    for (const [asked, match] of Object.entries(FOUND)) t.equal(table.find(path(asked), { pages })?.match, match, asked)
  },
)

t.test('a table without entries finds nothing', async t => {
  t.equal(createUpstreamTable([]).find(path('/api/v1/c/x'), NO_PAGES), null)
})

t.test('a path of two thousand segments is looked up no deeper than the longest match', async t => {
  const table = createUpstreamTable([upstreamSettings({ match: '/api/v1/c', target: TARGET })])
  t.teardown(() => table.close())
  const deep = `/api/v1/c${'/a'.repeat(1000)}`
  t.equal(table.find(path(deep), NO_PAGES)?.match, '/api/v1/c')
  t.equal(table.find(path(`/api/v1/d${'/a'.repeat(1000)}`), NO_PAGES), null)
})

t.test('two upstreams with the same prefix are an error, and so is an upstream without a target', async t => {
  const settings = { match: '/api/v1/c', target: 'builtin:echo' }
  t.throws(
    () =>
      createUpstreamTable([upstreamSettings({ ...settings, name: 'a' }), upstreamSettings({ ...settings, name: 'b' })]),
    /a and b both match/,
  )
  t.throws(() => createUpstreamTable([upstreamSettings({ name: 'a', match: '/api/v1/c' })]), /a has no target/)
})

t.test('targets are used in turn, beginning with the first', async t => {
  const targets = ['http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://127.0.0.1:3']
  const table = createUpstreamTable([upstreamSettings({ match: '/api', targets })])
  t.teardown(() => table.close())
  const [upstream] = table.upstreams
  t.same(upstream!.urls, targets)
  t.same(
    [1, 2, 3, 4].map(() => upstream!.next(null)!.url),
    [...targets, targets[0]],
  )
  const [first, second, third] = upstream!.targets
  t.equal(upstream!.another([first!], null), second)
  t.equal(upstream!.another([first!, second!], null), third)
  t.equal(upstream!.another([first!, second!, third!], null), null)
})

t.test('the built-in echo has a name and no server', async t => {
  const table = createUpstreamTable([upstreamSettings({ match: '/api', target: 'builtin:echo' })])
  t.same(table.upstreams[0]!.urls, ['builtin:echo'])
  t.equal(table.upstreams[0]!.next(null), null)
})
