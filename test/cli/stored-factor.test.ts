import t from 'tap'
import { run } from '../support/command-line.ts'
import { openProviderGateway } from '../support/provider-gateway.ts'
import { withoutRedis } from '../support/redis-server.ts'

/* `dualgate account reset-second-factor` for users of a provider, whose account the claims are. */

for (const store of ['embedded', 'redis'] as const)
  t.test(`by the login id, ${store} store`, { skip: store === 'redis' && withoutRedis }, async t => {
    const gateway = await openProviderGateway(t, { store })
    const [ada, bob] = [gateway.browser(), gateway.browser()]
    await ada.signIn('ada')
    await bob.signIn('bob')
    const reset = (name: string) =>
      run(gateway.folder, ['account', 'reset-second-factor', name, '--config', 'gateway.yaml'])
    t.match(await reset('staff:ada'), { code: 1, output: '', errors: 'dualgate: staff:ada has no second factor\n' })
    t.match(await reset('other:ada'), { code: 1, output: '', errors: 'dualgate: there is no account other:ada\n' })
    const { factors } = gateway.store
    for (const id of ['staff:ada', 'staff:bob'])
      t.ok(await factors.replace('BUSINESS', id, null, JSON.stringify({ second_factor: 'sealed' })))
    t.match(await reset('staff:ada'), {
      code: 0,
      output: 'removed the second factor of staff:ada\nended its sessions: 1, keys: 0\n',
      errors: '',
    })
    t.match(await factors.read('BUSINESS', 'staff:ada'), /^\{"reset_at":"[^"]+"\}$/)
    t.match(await factors.read('BUSINESS', 'staff:bob'), 'sealed')
    t.equal(await bob.told(), 'staff:bob')
    t.equal(await ada.told(), '401')
    const { entries } = await gateway.store.journal.page({ size: 20 })
    t.match(
      entries.find(({ event }) => event === 'second-factor-reset'),
      { login_id: 'staff:ada', by: 'command line', type: 'BUSINESS' },
    )
  })
