import t from 'tap'
import type { Account } from '../../src/account/source.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import type { Attempt } from '../../src/login/sign-in/attempt.ts'
import { createTickets } from '../../src/login/sign-in/steps/tickets.ts'
import { clockOf } from '../support/clock.ts'

function openTickets() {
  const kept = new Map<string, string>()
  const account = { id: '1', username: 'ann', status: 'ACTIVE', extra: {}, version: 'v' } as Account
  const attempt = (): Attempt => ({ type: 'BUSINESS', address: '192.0.2.1', origin: {} })
  const tickets = createTickets({
    type: 'BUSINESS',
    accounts: { find: async () => account },
    clock: clockOf(() => 0),
    store: {
      put: async (_, id, text) => void kept.set(id, text),
      read: async (_, id) => kept.get(id) ?? null,
      async take(_, id) {
        const text = kept.get(id) ?? null
        kept.delete(id)
        return text
      },
    },
  })
  const device = { device_type: 'Chrome', device_id: '', login_ip: '192.0.2.1' }
  const opened = async () =>
    tickets.open(await tickets.issue('password', { account, device, passed: [] }), ['password'], attempt())
  return { kept, tickets, attempt, opened }
}

t.test('a ticket whose account has changed is used up, and not put back', async t => {
  const { kept, tickets, attempt, opened } = openTickets()
  const ticket = await opened()
  await t.rejects(
    tickets.use(ticket, attempt(), async () => false),
    { message: 'TICKET_INVALID' },
  )
  t.equal(kept.size, 0)
})

t.test('a ticket stays if what it was for could not be stored', async t => {
  const { kept, tickets, attempt, opened } = openTickets()
  const ticket = await opened()
  const fail = async (): Promise<boolean> => {
    throw new Unavailable('the source')
  }
  await t.rejects(tickets.use(ticket, attempt(), fail), { message: 'UNAVAILABLE' })
  t.equal(kept.size, 1)
})
