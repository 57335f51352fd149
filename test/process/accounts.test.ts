import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readAccounts } from '../../src/account/file/source.ts'
import { versionOf } from '../../src/account/version.ts'
import { call } from '../support/client.ts'
import { run } from '../support/command-line.ts'
import { ownPorts } from '../support/ports.ts'
import { type GatewayProcess, startGateway } from '../support/process.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/** So many connections meet both workers. */
const CONNECTIONS = 12

/** The newest entries of the journal about the B side: what happened, and to whom. The worker that answers may be any. */
async function journalOn({ url }: GatewayProcess, token: string, query = ''): Promise<string[]> {
  const page = await call(url, { path: `/api/v1/sys/journal/page?size=100&type=BUSINESS${query}`, token })
  const { records } = page.json().data as { records: { event: string; username: string | null }[] }
  return records.map(({ event, username }) => `${event} ${username}`)
}

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`\`dualgate account\` ends sessions on both workers, running or not: ${store} store`, { skip }, async t => {
    const gateway = await startSupervised(t, { store })
    const { folder, environment } = gateway
    const account = (...words: string[]) =>
      run(folder, ['account', ...words], { environment, input: 'correct horse 4' })
    const operate = async (at: GatewayProcess, name: string): Promise<string> => {
      const stored = (await readAccounts(join(folder, 'config/accounts.yaml'))).byName.get(name)!
      // As the login of an account writes it.
      const extra = { username: name, account_version: versionOf(stored) }
      return (await at.operate('business', 'login', { user_id: stored.id, extra })).data.token
    }
    const liveOn = async ({ url }: GatewayProcess, token: string): Promise<number> => {
      const answers = await Promise.all(
        Array.from({ length: CONNECTIONS }, () => call(url, { path: '/api/v1/b/x', token })),
      )
      return answers.filter(({ text }) => !text.includes('"code":401')).length
    }
    // Only a worker that has read the file before says that it was read again.
    const token = await operate(gateway, 'admin')
    const own = Array.from({ length: CONNECTIONS }, () => call(gateway.url, { path: '/api/v1/b/account', token }))
    for (const { status } of await Promise.all(own)) t.equal(status, 200)
    for (const name of ['jane', 'john', 'joan']) await account('add', name, '--password-stdin')
    const [jane, john, joan] = [
      await operate(gateway, 'jane'),
      await operate(gateway, 'john'),
      await operate(gateway, 'joan'),
    ]
    t.equal(await liveOn(gateway, jane), CONNECTIONS)
    // These logins did not read the file: a worker that has never seen jane would find no change in her removal.
    const isKnown = () => gateway.logged('the accounts were read again').some(({ accounts }) => accounts === 4)
    t.ok(await until(isKnown))

    t.match(await account('remove', 'jane'), { code: 0, output: /removed jane; the running gateway ends the sessions/ })
    t.ok(await until(async () => (await liveOn(gateway, jane)) === 0))
    await account('passwd', 'john', '--password-stdin')
    t.ok(await until(async () => (await liveOn(gateway, john)) === 0))
    t.equal(await liveOn(gateway, joan), CONNECTIONS)
    const kickouts = () => gateway.logged('event').filter(({ event }) => event === 'kickout')
    await until(() => kickouts().length === 2)
    // Two workers may have written them.
    t.match(
      kickouts().toSorted((a, b) => (a.reason < b.reason ? -1 : 1)),
      [
        { reason: 'account-changed', ended: 1 },
        { reason: 'password-changed', ended: 1 },
      ],
    )

    const again = await operate(gateway, 'john')
    await gateway.end('SIGTERM')
    await account('remove', 'joan')
    const later = await startGateway(folder, environment)
    t.teardown(() => later.end('SIGKILL'))
    t.ok(await until(async () => (await liveOn(later, joan)) === 0))
    t.equal(await liveOn(later, again), CONNECTIONS)

    // The last login came right before the end of its worker; commands keep what they did while no gateway runs, too.
    const happened = [
      'login admin',
      ...['jane', 'john', 'joan'].flatMap(name => [`account-added ${name}`, `login ${name}`, `kickout ${name}`]),
      ...['account-removed jane', 'password-reset john', 'login john', 'account-removed joan'],
    ].sort()
    const admin = (await later.operate('business', 'login', { user_id: 'boss', extra: { roles: ['SUPER_ADMIN'] } }))
      .data
    await until(async () => (await journalOn(later, admin.token)).includes('kickout joan'))
    const kept = (await journalOn(later, admin.token)).filter(line => !line.endsWith(' null'))
    t.same(kept.sort(), happened, 'the journal has each of it once')
  })
}

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(
    `administrators on both workers lose no change, and end sessions at once: ${store} store`,
    { skip },
    async t => {
      const gateway = await startSupervised(t, { store })
      const { folder, environment, url } = gateway
      const file = join(folder, 'config/accounts.yaml')
      const signedIn = async (username: string): Promise<string> => {
        const account = (await readAccounts(file)).byName.get(username)!
        const extra = { ...account.extra, username, account_version: versionOf(account) }
        return (await gateway.operate('business', 'login', { user_id: account.id, extra })).data.token
      }
      const admin = await signedIn('admin')
      // Each call has a connection of its own, which either worker accepts.
      const post = async (path: string, body: object, token = admin) =>
        (await call(url, { method: 'POST', path: `/api/v1/sys/account/${path}`, body, token })).json()

      const names = Array.from({ length: 12 }, (_, i) => `user${i}`)
      // 503 has done nothing: each waits for the lock of the file for five seconds.
      const added = names.map(username => until(async () => (await post('add', { username })).success))
      const commands = ['joan', 'jane'].map(name =>
        until(async () => (await run(folder, ['account', 'add', name], { environment })).code === 0),
      )
      await Promise.all([...added, ...commands])
      const all = [...(await readAccounts(file)).byName.keys()].sort()
      t.same(all, ['admin', 'jane', 'joan', ...names].sort())

      for (const name of names.slice(0, 3)) {
        const token = await signedIn(name)
        const { id } = (await readAccounts(file)).byName.get(name)!
        t.match(await post('edit', { id, status: 'LOCKED' }), { success: true })
        const answers = await Promise.all(
          Array.from({ length: CONNECTIONS }, () => call(url, { path: '/api/v1/b/x', token })),
        )
        t.ok(
          answers.every(({ text }) => text.includes('"code":401')),
          'no worker accepts the session any more',
        )
      }

      for (const [one, other] of [names.slice(3, 5), names.slice(5, 7)] as [string, string][]) {
        const { byName } = await readAccounts(file)
        const ids = [byName.get(one)!.id, byName.get(other)!.id]
        for (const id of ids) await post('edit', { id, roles: ['SUPER_ADMIN'] })
        const tokens = [await signedIn(one), await signedIn(other)]
        const answers = await Promise.all([
          post('remove', { id: ids[1] }, tokens[0]),
          post('remove', { id: ids[0] }, tokens[1]),
        ])
        t.same(answers.map(({ success }) => success).sort(), [false, true], 'of two that remove each other one stays')
      }

      const additions = [...names, 'jane', 'joan'].map(name => `account-added ${name}`).sort()
      const pagesOfBoth = () =>
        Promise.all(Array.from({ length: CONNECTIONS }, () => journalOn(gateway, admin, '&event=account-added')))
      t.ok(await until(async () => (await pagesOfBoth()).every(page => page.length === additions.length)))
      for (const page of await pagesOfBoth()) t.same(page.sort(), additions, 'each worker shows what both recorded')
    },
  )
}

t.test('workers that start after the accounts file was removed report that, too', async t => {
  const gateway = await startSupervised(t, { environment: await ownPorts() })
  const file = join(gateway.folder, 'config/accounts.yaml')
  const whole = readFileSync(file, 'utf8')
  /** What all answers say of the file; `null` while they differ. */
  const state = async (): Promise<string | null> => {
    const answers = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => call(gateway.internal, { path: '/readyz' })),
    )
    const states = answers.map(
      answer => /the accounts file (?:has faults|was removed)/.exec(answer.text)?.[0] ?? 'whole',
    )
    return new Set(states).size === 1 ? states[0]! : null
  }
  const becomes = (wanted: string) => until(async () => (await state()) === wanted)
  // Then each worker has read the file.
  writeFileSync(file, 'accounts: 1\n')
  t.ok(await becomes('the accounts file has faults'))
  writeFileSync(file, whole)
  t.ok(await becomes('whole'))

  rmSync(file)
  t.ok(await becomes('the accounts file was removed'))
  const before = gateway.workers()
  for (const worker of before) process.kill(worker, 'SIGKILL')
  t.ok(await until(() => gateway.logged('a new worker replaced it').length === before.length))
  t.ok(await becomes('the accounts file was removed'))
  writeFileSync(file, whole)
  t.ok(await becomes('whole'))
})
