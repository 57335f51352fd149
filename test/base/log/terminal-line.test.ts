import t from 'tap'
import { createLog } from '../../../src/base/log/log.ts'
import { textOfLine } from '../../../src/base/log/terminal-line.ts'
import { fc } from '../../support/random.ts'

/* At a terminal the log is text. A client chooses a part of it. */

function textOf(fields: object, message: string, level: 'info' | 'error' = 'info'): string {
  let text = ''
  const log = createLog('info', {
    write: line => {
      text += textOfLine(line)
    },
  })
  log[level](fields, message)
  return text
}

t.test('a line at a terminal has time, level, message and fields', async t => {
  const text = textOf({ status: 200, path: '/api/v1/x', names: ['a b'], empty: '', odd: 'a b' }, 'request')
  t.match(text, /^\d\d:\d\d:\d\d info {2}request status=200 path=\/api\/v1\/x names=\["a b"\] empty="" odd="a b"\n$/)
})

t.test('a fault at a terminal is shown with its stack and its cause', async t => {
  const cause = new TypeError('the cause')
  const lines = textOf({ err: new Error('the fault', { cause }), id: 7 }, 'failed', 'error').split('\n')
  t.match(lines[0], /^\S+ error failed id=7$/)
  t.equal(lines[1], '  Error: the fault')
  t.match(lines[2], /^ {6}at .*terminal-line\.test/)
  t.ok(lines.indexOf('  caused by:') > 2)
  t.equal(lines[lines.indexOf('  caused by:') + 1], '  TypeError: the cause')
})

t.test('a fault that is no Error is shown as it is', async t => {
  t.match(textOf({ err: 'a text' }, 'failed'), /^\S+ info {2}failed\n {2}"a text"\n$/)
})

const CONTROL = /[\p{Cc}\p{Bidi_Control}]/u

t.test('no text of a client controls the terminal', async t => {
  const text = fc.string({ unit: fc.constantFrom('\x1b', '[31m', '\x7f', '\x9b', '\u202e', '\n', '\r', 'a', '"', '=') })
  fc.assert(
    fc.property(text, text, text, (field, message, fault) => {
      const err = new Error(fault)
      const lines = textOf({ [`x${field}`]: field, list: [field], err }, message, 'error').split('\n')
      const expected = 1 + err.stack!.split('\n').length + 1
      return lines.length === expected && lines.every(line => !CONTROL.test(line))
    }),
  )
  t.pass()
})
