import t from 'tap'
import { asToken, readBearer } from '../../src/token/bearer.ts'

const TOKEN = 'aa.bb.cc'

const ROWS: [value: unknown, token: string | null][] = [
  [`Bearer ${TOKEN}`, TOKEN],
  [`bearer ${TOKEN}`, TOKEN],
  [`BEARER ${TOKEN}`, TOKEN],
  [TOKEN, TOKEN],
  [`Bearer  ${TOKEN}`, null],
  [`Bearer\t${TOKEN}`, null],
  [`Bearer ${TOKEN},Bearer ${TOKEN}`, null],
  [`Basic ${TOKEN}`, null],
  [`Bearer${TOKEN}`, `Bearer${TOKEN}`],
  ['Bearer ', null],
  ['Bearer', null],
  ['', null],
  [undefined, null],
  [[`Bearer ${TOKEN}`], null],
  ['Bearer aa.bb', null],
  ['Bearer aa..cc', null],
  ['Bearer aa.bb.cc.dd', null],
  ['Bearer aa.bb.cc.dd.ee', null],
  ['Bearer aa.bb.cc=', null],
  ['Bearer aa.b+b.cc', null],
  ['Bearer aa.b/b.cc', null],
  [`Bearer a.b.${'c'.repeat(4092)}`, `a.b.${'c'.repeat(4092)}`],
  [`Bearer a.b.${'c'.repeat(4093)}`, null],
]

for (const [value, token] of ROWS) {
  t.test(
    `the header value ${JSON.stringify(value)?.slice(0, 60)} holds ${token === null ? 'no token' : 'a token'}`,
    async t => {
      t.equal(readBearer(value), token)
    },
  )
}

t.test('only a string in compact form is a token', async t => {
  t.equal(asToken(TOKEN), TOKEN)
  for (const other of [null, 12, {}, [TOKEN], 'Bearer aa.bb.cc', 'aa.bb']) t.equal(asToken(other), null)
})
