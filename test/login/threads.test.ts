import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { pino } from 'pino'
import { sm2 as encryption } from 'sm-crypto-v2'
import t from 'tap'
import { hashPassword } from '../../src/account/password.ts'
import { generateSm2PrivateKey } from '../../src/config/sm2-key.ts'
import { createSm2 } from '../../src/login/sm2/sm2.ts'
import { createThreads } from '../../src/login/threads.ts'
import { reasonOf } from '../support/login-fixture.ts'

const silent = pino({ level: 'silent' })
/** Shared by the tests, because a thread takes long to start; what is about its queue goes one test after the other. */
const threads = createThreads(silent)
t.teardown(threads.close)

t.test('threads decrypt, draw and compare', async t => {
  const sm2 = await createSm2(generateSm2PrivateKey(), threads)
  t.equal(await sm2.decrypt(encryption.doEncrypt('correct horse', sm2.publicKey, 1)), 'correct horse')
  t.equal(await sm2.decrypt('zz'), null)
  t.match(await threads.draw('ACDE'), /^data:image\/png;base64,/)
  const hash = await hashPassword('correct horse')
  t.equal(await threads.compare('correct horse', hash), true)
  t.equal(await threads.compare('wrong', hash), false)
})

t.test('a thread compares a password with the decoys only if it does not match', async t => {
  const hash = bcrypt.hashSync('correct horse', 4)
  // With what is no text bcrypt cannot be asked.
  const decoys = [hash, null as never]
  t.equal(await threads.compare('correct horse', hash, decoys), true)
  await t.rejects(threads.compare('wrong', hash, decoys))
})

t.test('the event loop goes on while threads work', async t => {
  const hash = await hashPassword('correct horse')
  await threads.compare('x', hash)
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  await Promise.all(Array.from({ length: 8 }, () => threads.compare('wrong', hash)))
  clearInterval(timer)
  // In the event loop's own thread there would be at most one turn per comparison.
  t.ok(turns > 16, `${turns} turns`)
})

t.test('a flood of pictures does not keep a login from its threads', async t => {
  const hash = bcrypt.hashSync('correct horse', 4)
  await Promise.all([threads.draw('ACDE'), threads.compare('x', hash)])
  let drawn = 0
  const pictures = Array.from({ length: 200 }, () => reasonOf(threads.draw('ACDE').then(() => (drawn += 1))))
  t.equal(await threads.compare('correct horse', hash), true, 'not BUSY')
  t.ok(drawn < 10, `it was not behind all of them: ${drawn} were drawn before`)
  const reasons = await Promise.all(pictures)
  t.ok(reasons.includes('BUSY'))
  t.equal(reasons.filter(reason => reason === 'granted').length, drawn)
})

t.test('beyond the queue the answer is BUSY, and waiting tasks are done', async t => {
  const reasons = await Promise.all(Array.from({ length: 200 }, () => reasonOf(threads.draw('ACDE'))))
  const done = reasons.filter(reason => reason === 'granted').length
  t.ok(done >= 33 && done < 200, `${done} drawn`)
  t.equal(reasons.filter(reason => reason === 'BUSY').length, 200 - done)
  t.ok(await threads.draw('ACDE'), 'and then there is room again')
})

t.test('after close no task starts, and closing twice or unused has no effect', async t => {
  const threads = createThreads(silent)
  await threads.close()
  await threads.close()
  await t.rejects(threads.draw('ACDE'), { message: 'the login threads are closed' })
})

t.test('idle threads do not keep the process alive', async t => {
  const child = spawnSync(process.execPath, [join(import.meta.dirname, 'threads-child.js')], {
    timeout: 30_000,
    encoding: 'utf8',
  })
  t.match(child, { status: 0, stdout: 'data:image/png' })
})

t.test('threads free the memory of their pictures', async t => {
  const draw = async (count: number): Promise<number> => {
    for (let i = 0; i < count; i += 20) await Promise.all(Array.from({ length: 20 }, () => threads.draw('ACDE')))
    return process.memoryUsage.rss()
  }
  // The first ones fill heaps and fonts. What is not freed is forty kilobytes a picture: 16 MB in each part, and a heap
  // that grows once does not grow in both.
  const rss = [await draw(300), await draw(400), await draw(400)]
  const growth = Math.min(rss[1]! - rss[0]!, rss[2]! - rss[1]!) / 2 ** 20
  t.ok(growth < 11, `${Math.round(growth)} MB more`)
})
