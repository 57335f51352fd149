import t from 'tap'
import { FAILURES } from '../../src/http/server/failure-texts.ts'
import { GUIDE, sectionOf } from '../support/documents.ts'

t.test('the guide explains exactly the existing refusals', async t => {
  const rows = sectionOf(GUIDE, 'Find out why a request was refused')
    .split('\n')
    .filter(line => line.startsWith('| `'))
  const named = rows.flatMap(row => [...row.split('|')[1]!.matchAll(/`([A-Z_]+)`/g)].map(([, reason]) => reason!))
  t.same(named.sort(), Object.keys(FAILURES).sort())
})

t.test('every message exists in both languages, with the same placeholders', async t => {
  for (const [reason, { text }] of Object.entries(FAILURES)) {
    const [english, chinese] = text
    t.match(chinese, /\p{Script=Han}|\{/u, reason)
    const missing = [...chinese.matchAll(/\{\w+\}/g)].filter(([field]) => !english.includes(field))
    t.same(missing, [], reason)
  }
})
