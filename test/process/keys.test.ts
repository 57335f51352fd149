import t from 'tap'
import { call } from '../support/client.ts'
import { run } from '../support/command-line.ts'
import { withoutRedis } from '../support/redis-server.ts'
import { type Supervised, startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/* Keys with two workers: each change is known to both, and what was answered survives the death of a worker. */

const PATH = '/api/v1/b/x'
/** Connections of their own: some reach each of two workers. */
const SEVERAL = 24

async function codesOf({ url }: Supervised, key: string): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: SEVERAL }, () => call(url, { path: PATH, token: key })))
  return [...new Set(answers.map(({ text }) => (text.startsWith('{') ? JSON.parse(text).code : 200)))]
}

for (const store of ['embedded', 'redis'] as const) {
  const skip = store === 'redis' && withoutRedis
  t.test(`a key of the command line is known to every worker at once, ${store} store`, { skip }, async t => {
    const gateway = await startSupervised(t, { store })
    const command = (...words: string[]) => run(gateway.folder, words, { environment: gateway.environment })
    const added = await command('key', 'add', 'admin', '--name', 'job')
    t.equal(added.code, 0, added.errors)
    const [, key = ''] = /^(dgb_\w+)$/m.exec(added.output) ?? []
    const [, id = ''] = /made key (\w+)/.exec(added.output) ?? []
    t.same(await codesOf(gateway, key), [200])

    for (const worker of gateway.workers()) process.kill(worker, 'SIGKILL')
    await until(() =>
      codesOf(gateway, key).then(
        codes => codes.length === 1 && codes[0] === 200,
        () => false,
      ),
    )

    const revoked = await command('key', 'revoke', 'admin', id)
    t.equal(revoked.code, 0, revoked.errors)
    t.same(await codesOf(gateway, key), [401], 'no request that is sent after the command passes')
    t.match((await command('key', 'list')).output, /^ID\s+BEGINS/)
    t.notMatch((await command('key', 'list')).output, id)
  })

  t.test(`a password that the command line sets ends keys in every worker, ${store} store`, { skip }, async t => {
    const gateway = await startSupervised(t, { store })
    const command = (...words: string[]) => run(gateway.folder, words, { environment: gateway.environment })
    const { output } = await command('key', 'add', 'admin')
    const [, key = ''] = /^(dgb_\w+)$/m.exec(output) ?? []
    t.same(await codesOf(gateway, key), [200])
    t.equal((await command('account', 'passwd', 'admin')).code, 0)
    await until(async () => (await codesOf(gateway, key)).join() === '401')
    await until(async () => !(await command('key', 'list')).output.includes('admin'))
  })
}
