import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { run, shippedFolder } from '../support/command-line.ts'
import { startRedis, withoutRedis } from '../support/redis-server.ts'

t.test('reindex of an empty embedded store finds nothing, and twice the same', async t => {
  const folder = shippedFolder(t)
  mkdirSync(join(folder, 'data'))
  for (let i = 0; i < 2; i++) {
    t.match(await run(folder, ['reindex']), {
      code: 0,
      output: 'BUSINESS: 0 live tokens\nCONSUMER: 0 live tokens\n',
      errors: '',
    })
  }
})

t.test('reindex adds the sessions that other programs wrote', { skip: withoutRedis }, async t => {
  const redis = await startRedis()
  t.teardown(() => redis.stop())
  const folder = shippedFolder(t)
  for (let i = 0; i < 300; i++) {
    const record = {
      user_id: `u${i}`,
      type: 'CONSUMER',
      created_at: '2026-01-02 03:04:05',
      extra: { username: `name${i}` },
    }
    await redis.cli('SET', `svc:auth:CONSUMER:token:aa.bb.${i}`, JSON.stringify(record), 'EX', '600')
    await redis.cli('SADD', `svc:auth:CONSUMER:session:u${i}`, `aa.bb.${i}`)
  }
  const environment = { STORE__KIND: 'redis', STORE__REDIS__URL: redis.url }
  const answer = await run(folder, ['reindex'], { environment })
  t.match(answer, { code: 0, output: 'BUSINESS: 0 live tokens\nCONSUMER: 300 live tokens\n' })
})

t.test('reindex makes no store where it is missing', async t => {
  const folder = shippedFolder(t)
  t.match(await run(folder, ['reindex']), { code: 1, output: '', errors: /^dualgate: there is no store in \S+data$/m })
  t.same(readdirSync(folder), ['config'])
})

t.test('reindex reports a store that does not answer', async t => {
  const environment = { STORE__KIND: 'redis', STORE__REDIS__URL: 'redis://127.0.0.1:1', STORE__TIMEOUT: '200ms' }
  t.match(await run(shippedFolder(t), ['reindex'], { environment }), { code: 1, errors: /the store does not answer/ })
})
