import t from 'tap'
import { ROOT } from '../support/root.ts'

/* Where the sign-in leads by an address of unknown origin. */

const { carried, destinationOf, withFragment } = await import(`${ROOT}/src/console/sign-in/destination.js`)

const WHERE = { own: 'https://gate.example', origins: ['https://wiki.example'], home: '/console/' }
const leads = (to: string | null): string => destinationOf(to, WHERE)

t.test('an address of this origin, or of an allowed one, counts', async t => {
  const valid = [
    '/',
    '/wiki/a?b=c#d',
    '/wiki/%2F%5C?x=//y',
    '/sign-inn',
    '/a/sign-in/',
    '/wiki/@evil.example',
    '/中文',
    '/a:b',
  ]
  const absolute = ['https://wiki.example', 'https://wiki.example/a?b#c', 'https://gate.example/x']
  for (const to of [...valid, ...absolute]) t.equal(leads(to), to)
})

/** A host that is not allowed, in the words of browsers. */
const EVIL = 'evil.example'
const SLASHES = [
  '//',
  '///',
  '////',
  '/\\',
  '\\/',
  '\\\\',
  '/\\/',
  '\\',
  '/\t/',
  '/\n/',
  '/ /',
  '/\r\n/',
  '/\u0000/',
  '/\u3000/',
]
const SCHEMES = ['http:', 'https:', 'HTTPS:', 'ftp:', 'data:', 'javascript:', 'vbscript:', 'file:', 'blob:', 'about:']
const LEADING = ['', ' ', '\t', '\u0000', '\u00a0', '\ufeff', '.', '..', '@', '%09', '%2F', ';', '?', '#']

t.test('no address leads away, however it is written', async t => {
  const written = [
    ...SLASHES.flatMap(slashes => [slashes + EVIL, `${slashes}gate.example@${EVIL}`, `${slashes}${EVIL}/%2e%2e`]),
    ...SCHEMES.flatMap(scheme => [scheme + EVIL, ...SLASHES.map(slashes => scheme + slashes + EVIL)]),
    `https://wiki.example.${EVIL}`,
    `https://wiki.example@${EVIL}/`,
    `https://wiki.example:443@${EVIL}/`,
    'https://wiki.example:8443/',
    'http://wiki.example/',
    `//;@${EVIL}`,
    `//evil%E3%80%82example`,
    `<>//${EVIL}`,
    `http://0xd83ad6ce`,
    `http:3627734734`,
    `http://wiki.example%2e${EVIL}/`,
    `http://${EVIL}%2f%2f.wiki.example/`,
    `http://wiki.example+&@${EVIL}#+@wiki.example/`,
    'https:wiki.example',
    'https:/wiki.example/',
    'HTTPS://wiki.example.evil.example/',
    'javascript:alert(1)//https://wiki.example/',
    `/${'a'.repeat(2048)}`,
    '',
    'wiki',
  ]
  const tried = written.flatMap(to => LEADING.map(before => before + to))
  t.ok(tried.length > 2000, `${tried.length} addresses`)
  const base = 'https://gate.example/sign-in/b/'
  const away = tried.filter(to => {
    const { origin } = new URL(leads(to), base)
    return origin !== 'https://gate.example' && origin !== 'https://wiki.example'
  })
  t.same(away, [])
  for (const to of written) t.equal(leads(to), '/console/', to.slice(0, 60))
  t.equal(leads(null), '/console/')
})

t.test('the pages of the sign-in itself are no destination', async t => {
  for (const to of [
    '/sign-in/b/',
    '/sign-in',
    '/sign-out/b',
    '/Sign-In/b/',
    '/./sign-in/b/',
    '/x/../sign-out/b',
    'https://gate.example/sign-in/b/',
  ])
    t.equal(leads(to), '/console/', to)
  t.equal(
    leads('https://wiki.example/sign-in/'),
    'https://wiki.example/sign-in/',
    'those of another origin are its own',
  )
})

t.test('the fragment of the page goes on', async t => {
  t.equal(withFragment('/wiki/a?b', '#c'), '/wiki/a?b#c')
  t.equal(withFragment('/wiki/a#old', '#c'), '/wiki/a#c')
  t.equal(withFragment('/wiki/a#old', ''), '/wiki/a#old')
})

t.test('a long fragment costs neither the page nor the sign-in', async t => {
  const [page, longest] = ['/wiki/a?b', `/${'('.repeat(2047)}`]
  for (const to of [`${page}#${'a'.repeat(9000)}`, `${longest}#a`]) t.equal(leads(to), to)
  t.equal(leads(`${longest}(#a`), '/console/')

  t.equal(carried(`${page}#c`), `${page}#c`)
  t.equal(carried(`${page}#${'a'.repeat(2100)}`), page)
  t.equal(carried(`${page}#${'('.repeat(700)}`), page, 'a form encodes it')
  t.equal(carried(`${longest}#a`), longest)
  t.equal(carried(`/${'中'.repeat(700)}`), '', 'beyond what a form may have')
})
