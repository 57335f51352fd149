import t from 'tap'
import { createProviderSessions, type Proven } from '../../../src/login/identity/provider-sessions.ts'
import type { SessionRecord } from '../../../src/session/record.ts'
import { clockOf } from '../../support/clock.ts'

/* Which sessions a logout at a provider finds. */

/** The sign-ins and logouts of one user, all of whose sessions here belong to one there, at a time that the test sets. */
function open(only: 'user' | 'session' = 'user') {
  const time = { now: 0 }
  const kept = new Map<string, { text: string; until: number }>()
  const read = async (_: unknown, id: string): Promise<string | null> => {
    const found = kept.get(id)
    return found !== undefined && time.now < found.until ? found.text : null
  }
  const ended: string[] = []
  const sessions = createProviderSessions({
    side: {
      type: 'BUSINESS',
      async kickoutWhere(id, reasonOf) {
        const extra = { provider: 'staff', provider_session: 'sid' }
        const record: SessionRecord = { user_id: id, type: 'BUSINESS', created_at: '', extra }
        if (reasonOf(record, '') !== null) ended.push(id)
        return 1
      },
    },
    tickets: {
      put: async (_, id, text, until) => void kept.set(id, { text, until }),
      read,
      async replace(_, id, known, text, until) {
        const found = kept.get(id)
        const live = found !== undefined && time.now < found.until ? found : null
        if ((live?.text ?? null) !== known) return false
        kept.set(id, { text, until: Math.max(until, live?.until ?? until) })
        return true
      },
      take: read,
    },
    clock: clockOf(() => time.now),
  })
  return {
    time,
    signIn: (id: string, latestEnd: number) => sessions.link({ user: 'ada', session: 'sid', latestEnd } as Proven, id),
    hasEnded: (issuedAt: number) => sessions.hasEnded({ user: 'ada', session: 'other', issuedAt } as Proven),
    async loggedOut(named: { user?: string; session?: string; issuedAt?: number }): Promise<string[]> {
      await sessions.end('staff', { user: undefined, session: undefined, issuedAt: 0, ...named }, only)
      return ended.splice(0)
    },
  }
}

t.test('a session is found to its end, also after a sign-in whose session ends earlier', async t => {
  const { time, signIn, loggedOut } = open()
  await signIn('1', 1000)
  await signIn('1', 100)
  await signIn('2', 200)
  time.now = 999
  t.same(await loggedOut({ user: 'ada' }), ['2', '1'])
  t.same(await loggedOut({ session: 'sid' }), ['2', '1'])
  time.now = 1000
  t.same(await loggedOut({ user: 'ada' }), [], 'nothing is kept beyond it')
})

t.test('a session is found to its end after one that ended earlier', async t => {
  const { time, signIn, loggedOut } = open()
  await signIn('1', 100)
  await signIn('1', 1000)
  time.now = 999
  t.same(await loggedOut({ user: 'ada' }), ['1'])
  t.same(await loggedOut({ session: 'sid' }), ['1'])
})

t.test('a logout of one session ends it under every account that its user was found by', async t => {
  const { signIn, loggedOut } = open('session')
  await signIn('1', 1000)
  await signIn('2', 1000)
  t.same(await loggedOut({ session: 'sid' }), ['2', '1'])
  t.same(await loggedOut({ user: 'ada', session: 'sid' }), ['2', '1'])
})

t.test('a logout that arrives behind a later one lets no sign-in pass that the later one stops', async t => {
  const { hasEnded, loggedOut } = open()
  await loggedOut({ user: 'ada', issuedAt: 150 })
  await loggedOut({ user: 'ada', issuedAt: 100 })
  t.equal(await hasEnded(140), true)
  t.equal(await hasEnded(160), false, 'one that began after both')
  await loggedOut({ user: 'ada', issuedAt: 170 })
  t.equal(await hasEnded(160), true)
})

t.test('of sign-ins at once under several accounts, a logout finds each to its end', async t => {
  const { time, signIn, loggedOut } = open()
  await Promise.all(['1', '2', '3'].map(id => signIn(id, id === '2' ? 1000 : 100)))
  time.now = 999
  t.same((await loggedOut({ user: 'ada' })).sort(), ['1', '2', '3'])
})

t.test('of logouts at once, the latest decides which sign-ins are stopped', async t => {
  const { hasEnded, loggedOut } = open()
  await Promise.all([110, 150, 120].map(issuedAt => loggedOut({ user: 'ada', issuedAt })))
  t.equal(await hasEnded(149), true)
  t.equal(await hasEnded(151), false)
})
