import { cpSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { call } from '../support/client.ts'
import { startSupervised } from '../support/supervised.ts'
import { until } from '../support/until.ts'

/* The data folder is moved, removed or replaced while workers have its files open. */

const REFUSED = /was moved, removed or replaced/

t.test('workers of one gateway never have different stores', async t => {
  const gateway = await startSupervised(t)
  const data = join(gateway.folder, 'data')
  const moved = join(gateway.folder, 'moved')
  const secret = readFileSync(join(data, 'internal.secret'), 'utf8').trim()
  const login = async () => {
    const body = { user_id: 'u2' }
    return (
      await call(gateway.internal, { method: 'POST', path: '/operations/v1/consumer/login', token: secret, body })
    ).status
  }
  const visit = async () => (await call(gateway.url, { token: gateway.token, path: '/api/v1/c/x' })).text

  renameSync(data, moved)
  // As a backup that is restored; a socket cannot be copied.
  cpSync(moved, data, { recursive: true, filter: path => !path.endsWith('.sock') })
  t.equal(await login(), 503, 'nothing is changed in files that no path leads to')

  process.kill(gateway.workers()[0]!, 'SIGKILL')
  const refused = (message: string) => gateway.logged(message).filter(({ err }) => REFUSED.test(err?.message))
  t.ok(await until(() => refused('a worker crashed').length > 0), 'no worker takes the place with another store')
  gateway.child.kill('SIGHUP')
  t.ok(
    await until(() => refused('not reloaded; the gateway continues with the previous configuration').length > 0),
    'a reload brings none either',
  )
  for (let i = 0; i < 4; i++) t.equal(await visit(), '/first/v1/c/x', 'the session goes on')

  rmSync(data, { recursive: true })
  t.equal(await login(), 503)
  renameSync(moved, data)
  t.ok(await until(() => gateway.logged('a new worker replaced it').length > 0), 'back in its place it is used again')
  for (let i = 0; i < 4; i++) {
    t.equal(await login(), 200)
    t.equal(await visit(), '/first/v1/c/x')
  }
  t.equal((await gateway.reload()).code, 0)
  t.equal(await gateway.end('SIGTERM'), 0)
})
