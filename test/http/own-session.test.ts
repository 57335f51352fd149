import t from 'tap'
import { sessionOf } from '../../src/http/routes/own-account/session.ts'
import type { Session } from '../../src/side/side.ts'

t.test('a route of a side accepts no session of the other side, whatever the gate has admitted', async t => {
  const session = { record: { type: 'CONSUMER', user_id: '1' } } as Session
  t.equal(sessionOf({ session }, 'CONSUMER'), session)
  t.throws(() => sessionOf({ session }, 'BUSINESS'), { message: 'NOT_LOGGED_IN' })
  t.throws(() => sessionOf({ session: null }, 'CONSUMER'), { message: 'NOT_LOGGED_IN' })
})
