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

t.test('again where the store has failed before the sessions ended', { skip: withoutRedis }, async t => {
  const gateway = await openProviderGateway(t, { store: 'redis' })
  const ada = gateway.browser()
  await ada.signIn('ada')
  t.ok(await gateway.store.factors.replace('BUSINESS', 'staff:ada', null, JSON.stringify({ second_factor: 'sealed' })))
  const reset = () => run(gateway.folder, ['account', 'reset-second-factor', 'staff:ada', '--config', 'gateway.yaml'])
  const cli = (...words: string[]) => gateway.redis!.cli(...words)
  const set = 'svc:auth:BUSINESS:session:staff:ada'
  await cli('RENAME', set, 'elsewhere')
  await cli('SET', set, 'no set: its members cannot be read')
  t.match(await reset(), { code: 1, output: 'removed the second factor of staff:ada\n', errors: /Redis: WRONGTYPE/ })
  t.equal(await ada.told(), 'staff:ada', 'the session lives')
  await cli('RENAME', 'elsewhere', set)
  t.match(await reset(), { code: 0, output: /^ended its sessions: 1, keys: 0$/m, errors: '' })
  t.equal(await ada.told(), '401')
  t.match(await reset(), { code: 1, output: '', errors: 'dualgate: staff:ada has no second factor\n' })
})
