import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { runCommand } from '../../src/cli.ts'
import { readConfiguration } from '../../src/config/load.ts'
import { GOOD_KEY } from '../config/folder.ts'
import { type RedisServer, startRedis, withoutRedis } from '../support/redis-server.ts'
import { isoInShanghai, otherProgram } from './other-program.ts'

const PREFIX = 'hei:auth'

/** A Redis as a service of the family fills it, and a folder with its `.env`. */
async function familyService(
  t: Test,
  secret = GOOD_KEY,
): Promise<{ server: RedisServer; folder: string; tokens: string[] }> {
  const server = await startRedis()
  t.teardown(() => server.stop())
  await server.cli('FLUSHALL')
  const other = otherProgram(server, secret, PREFIX)
  const tokens = [
    await other.signIn('1', { extra: { username: 'admin' } }),
    await other.signIn('1', { extra: { username: 'admin' } }),
    await other.signIn('9', { type: 'CONSUMER', form: isoInShanghai }),
  ]
  await server.cli('SET', 'BUSINESS:captcha:0b9c', 'ABCD', 'EX', '60')
  await server.cli('SET', 'unrelated:key', 'x')
  const folder = t.testdir({
    '.env': `REDIS__HOST=127.0.0.1\nREDIS__PORT=${server.port}\nJWT__SECRET_KEY=${secret}\nAPP__TIMEZONE=Asia/Shanghai\n`,
  })
  return { server, folder, tokens }
}

async function run(folder: string, ...words: string[]) {
  const [output, errors] = [new PassThrough(), new PassThrough()]
  const code = await runCommand(words, { input: process.stdin, output, errors, environment: {}, cwd: folder })
  return { code, out: String(output.read() ?? ''), err: String(errors.read() ?? '') }
}

t.test('adopt reports what a move needs, without secrets and tokens', { skip: withoutRedis }, async t => {
  const { server, folder, tokens } = await familyService(t)
  const before = await server.cli('DBSIZE')
  const { code, out } = await run(folder, 'adopt', '.env')
  t.equal(code, 0)
  t.match(out, /^prefix hei:auth$/m)
  t.match(out, /BUSINESS {2}2 tokens of 1 users, 0 disabled/)
  t.match(out, /CONSUMER {2}1 tokens of 1 users/)
  t.match(out, /created_at like 0000-00-00T00:00:00\.000000\+00:00 \(2 of 2/)
  t.match(out, /created_at like 0000-00-00T00:00:00\+08:00 \(1 of 1/)
  t.match(out, /JWT__SECRET_KEY fits 3 of 3 tokens/)
  t.match(out, /captchas <TYPE>:captcha:<id>/)
  for (const secret of [GOOD_KEY, ...tokens]) t.notOk(out.includes(secret), 'no secret')
  t.equal(await server.cli('DBSIZE'), before, 'nothing is changed')
})

t.test('the configuration that adopt writes loads, and an existing file stays', { skip: withoutRedis }, async t => {
  const { server, folder } = await familyService(t)
  t.equal((await run(folder, 'adopt', '.env', '--write', 'gateway.yaml')).code, 0)
  const environment = { STORE__REDIS__URL: server.url, JWT__SECRET_KEY: GOOD_KEY }
  const { settings } = readConfiguration('gateway.yaml', environment, folder)
  t.equal(settings.store.prefix, PREFIX)
  t.equal(settings.timezone, 'Asia/Shanghai')
  t.equal(settings.login.captcha.key, '{type}:captcha:{id}')
  t.equal(settings.permissions.source, 'accounts')
  const text = readFileSync(join(folder, 'gateway.yaml'), 'utf8')
  t.notOk(text.includes(GOOD_KEY))
  writeFileSync(join(folder, 'gateway.yaml'), 'mine')
  const again = await run(folder, 'adopt', '.env', '--write', 'gateway.yaml')
  t.same([again.code, readFileSync(join(folder, 'gateway.yaml'), 'utf8')], [1, 'mine'])
})

t.test('a secret that does not match, and one that can be guessed, are reported', { skip: withoutRedis }, async t => {
  const { folder } = await familyService(t, 'backend-secret-key-change-in-production')
  t.match((await run(folder, 'adopt', '.env')).out, /it can be guessed: see jwt\.accept_weak_secret/)
  writeFileSync(join(folder, 'other.yaml'), `jwt: { secret_key: ${GOOD_KEY} }\n`)
  const { port } = /REDIS__PORT=(?<port>\d+)/.exec(readFileSync(join(folder, '.env'), 'utf8'))!.groups!
  const { out } = await run(folder, 'adopt', 'other.yaml', '--redis', `redis://127.0.0.1:${port}/0`)
  t.match(out, /JWT__SECRET_KEY fits 0 of 3 tokens/)
})

t.test('adopt without a Redis reports this, and writes nothing', async t => {
  const folder = t.testdir({ '.env': 'A=1\n' })
  t.equal((await run(folder, 'adopt', '.env')).code, 2)
  const { code, err } = await run(folder, 'adopt', '--redis', 'redis://user:hidden@127.0.0.1:1/0', '--write', 'x.yaml')
  t.same([code, existsSync(join(folder, 'x.yaml'))], [1, false])
  t.match(err, /Redis does not answer/)
  t.notMatch(err, /hidden/)
})
