import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync } from 'node:fs'
import { availableParallelism, getPriority, platform } from 'node:os'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import { pino } from 'pino'
import { sm2 as encryption } from 'sm-crypto-v2'
import t from 'tap'
import { hashPassword } from '../../src/account/password.ts'
import { createHelpers } from '../../src/login/helpers/helpers.ts'
import { createSm2 } from '../../src/login/sm2/sm2.ts'
import { generateSm2PrivateKey } from '../../src/settings/sm2-key.ts'
import { reasonOf } from '../support/login-fixture.ts'
import { PATIENCE } from '../support/until.ts'

const silent = pino({ level: 'silent' })
/** Shared by the tests, because a process takes long to start; what is about its line goes one test after the other. */
const helpers = createHelpers(silent)
t.teardown(helpers.close)

/** The processes that this one has started. */
const childrenOf = (): number[] =>
  readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number)

/** Whether a process was started as a helper of the lowest priority: the last argument is the niceness that it gives itself. */
const isLowest = (pid: number): boolean => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').at(-2) === '19'

t.test('helpers decrypt, draw and compare', async t => {
  const sm2 = await createSm2(generateSm2PrivateKey(), helpers.decrypt)
  t.equal(await sm2.decrypt(encryption.doEncrypt('correct horse', sm2.publicKey, 1)), 'correct horse')
  t.equal(await sm2.decrypt('zz'), null)
  t.match(await helpers.draw('ACDE'), /^data:image\/png;base64,/)
  const hash = await hashPassword('correct horse')
  t.equal(await helpers.compare('correct horse', hash), true)
  t.equal(await helpers.compare('wrong', hash), false)
})

t.test('a helper compares a password with the decoys only if it does not match', async t => {
  const hash = bcrypt.hashSync('correct horse', 4)
  // With what is no text bcrypt cannot be asked.
  const decoys = [hash, null as never]
  t.equal(await helpers.compare('correct horse', hash, decoys), true)
  t.equal(await reasonOf(helpers.compare('wrong', hash, decoys)), 'UNAVAILABLE', 'a helper that fails')
})

t.test('the event loop goes on while helpers work', async t => {
  const hash = await hashPassword('correct horse')
  await helpers.compare('x', hash)
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  await Promise.all(Array.from({ length: 8 }, () => helpers.compare('wrong', hash)))
  clearInterval(timer)
  // In the event loop's own thread there would be at most one turn per comparison.
  t.ok(turns > 16, `${turns} turns`)
})

t.test('a flood of pictures does not keep a login from its helpers', async t => {
  const hash = bcrypt.hashSync('correct horse', 4)
  await Promise.all([helpers.draw('ACDE'), helpers.compare('x', hash)])
  // So many pictures wait as are drawn in some seconds: the start of a process is to count no more in how long one takes.
  for (let i = 0; i < 40; i++) await helpers.draw('ACDE')
  let drawn = 0
  const pictures = Array.from({ length: 4000 }, () => reasonOf(helpers.draw('ACDE').then(() => (drawn += 1))))
  t.equal(await helpers.compare('correct horse', hash), true, 'not BUSY')
  const before = drawn
  const reasons = await Promise.all(pictures)
  t.ok(reasons.includes('BUSY'))
  t.equal(reasons.filter(reason => reason === 'granted').length, drawn)
  t.ok(before < drawn, `it was not behind all of them: ${before} of ${drawn} were drawn before`)
  t.ok(await helpers.draw('ACDE'), 'and then there is room again')
})

t.test('after close no task starts, and closing twice or unused has no effect', async t => {
  const helpers = createHelpers(silent)
  await helpers.close()
  await helpers.close()
  t.equal(await reasonOf(helpers.draw('ACDE')), 'UNAVAILABLE')
})

t.test('close drops the tasks in progress', async t => {
  const helpers = createHelpers(silent)
  const drawn = reasonOf(helpers.draw('ACDE'))
  await helpers.close()
  t.equal(await drawn, 'UNAVAILABLE')
})

/** A `chrt` that starts helpers as any other process: the lowest priority needs an idle core. */
const EAGER = `#!/bin/sh
shift 2
for word; do
  shift
  [ "$word" = 19 ] && word=0
  set -- "$@" "$word"
done
exec "$@"
`

t.test('idle helpers do not keep the process alive', async t => {
  const PATH = t.testdir({ chrt: EAGER })
  chmodSync(join(PATH, 'chrt'), 0o755)
  // It waits for a helper that has begun to draw, also where the substitute has done so before.
  const child = spawnSync(process.execPath, [join(import.meta.dirname, 'helpers-child.js')], {
    env: { ...process.env, PATH },
    timeout: PATIENCE,
    encoding: 'utf8',
  })
  t.match(child, { status: 0, stdout: 'data:image/png' })
})

t.test(
  'where helpers of the lowest priority get no processor time, a substitute signs users in',
  platform() === 'linux' ? {} : { skip: 'there is no /proc' },
  async t => {
    const others = new Set(childrenOf())
    const ours = (): number[] => childrenOf().filter(pid => !others.has(pid))
    const helpers = createHelpers(silent)
    t.teardown(helpers.close)
    const hash = bcrypt.hashSync('correct horse', 4)
    await Promise.all([helpers.compare('x', hash), helpers.compare('x', hash)])
    // On a busy machine they may still be starting when the substitute has done their work.
    const lowest = ours().filter(isLowest)
    t.equal(lowest.length, Math.min(2, availableParallelism()))
    for (const pid of lowest) process.kill(pid, 'SIGSTOP')
    const compared = await Promise.all(Array.from({ length: 6 }, () => helpers.compare('correct horse', hash)))
    t.same(new Set(compared), new Set([true]))
    t.ok(
      ours().some(pid => !lowest.includes(pid) && getPriority(pid) < 19),
      'which has a share of the processor',
    )
    for (const pid of lowest) process.kill(pid, 'SIGCONT')
    t.equal(await helpers.compare('wrong', hash), false)
  },
)
