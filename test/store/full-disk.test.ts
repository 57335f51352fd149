import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CALM } from '../../src/store/embedded/file/write-outage.ts'
import { call } from '../support/client.ts'
import { limitFiles, withoutFullDisk } from '../support/full-disk.ts'
import { type Fixture, openFixture, someone } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'

/* A full disk under the embedded store. */

/** From now on the file of the sessions does not grow. The journal is a file of its own, which is made first. */
async function fillDisk({ folder, operate }: Fixture): Promise<void> {
  await operate('consumer', 'login', { user_id: someone() })
  t.ok(await until(() => existsSync(join(folder, 'data/journal.mdb-lock'))))
  limitFiles(statSync(join(folder, 'data/sessions.mdb')).size)
  await until(async () => (await operate('consumer', 'login', { user_id: someone(), extra: LARGE })).code === 503)
}

const LARGE = { note: 'x'.repeat(7000) }

async function warningsAt({ internal }: Fixture): Promise<string[]> {
  const { status, warnings } = (await call(internal, { path: '/readyz' })).json()
  t.equal(status, 'ok')
  return warnings.filter((text: string) => /embedded store/.test(text))
}

async function failuresAt({ internal }: Fixture): Promise<number> {
  const { text } = await call(internal, { path: '/metrics' })
  return Number(/^dualgate_store_write_failures_total (\d+)$/m.exec(text)?.[1])
}

const linesOf = ({ log }: Fixture) =>
  log.map(line => JSON.parse(line)).filter(({ msg }) => /^the embedded store/.test(msg))

/** What is printed to standard error from now on; the limit of the files ends with the test. */
function capturePrinted(t: Test): unknown[][] {
  const { error } = console
  const printed: unknown[][] = []
  console.error = (...words) => void printed.push(words)
  t.teardown(() => {
    limitFiles('unlimited')
    console.error = error
  })
  return printed
}

t.test(
  'a full disk is warned of, logged once and counted, until a write succeeds again',
  { skip: withoutFullDisk },
  async t => {
    const fixture = await openFixture(t)
    const login = () => fixture.operate('consumer', 'login', { user_id: someone(), extra: LARGE })
    const printed = capturePrinted(t)
    t.equal((await login()).code, 200)
    t.same(await warningsAt(fixture), [])
    t.equal(await failuresAt(fixture), 0)

    await fillDisk(fixture)
    for (let tries = 0; tries < 3; tries++) t.equal((await login()).code, 503)
    const warning = 'the embedded store cannot write sessions.mdb, so logins are refused; the disk is full: free space'
    t.ok(await until(() => linesOf(fixture).length === 1))
    t.match(linesOf(fixture), [{ level: 50, msg: warning, fault: /File too large/, code: 27 }])
    t.same(await warningsAt(fixture), [warning])
    await fixture.elapse(CALM)
    t.same(await warningsAt(fixture), [warning], 'a change that writes nothing proves nothing')
    t.ok((await failuresAt(fixture)) >= 3)
    t.same(printed, [], 'LMDB prints nothing')

    limitFiles('unlimited')
    t.equal((await login()).code, 200)
    t.same(await warningsAt(fixture), [warning], 'small changes succeed on a full disk, too')
    await fixture.elapse(CALM)
    t.same(await warningsAt(fixture), [], 'found without a login')
    t.match(linesOf(fixture), [{ msg: warning }, { level: 30, msg: 'the embedded store writes sessions.mdb again' }])
  },
)

t.test('what other code prints while the disk is full is printed', { skip: withoutFullDisk }, async t => {
  const fixture = await openFixture(t)
  const printed = capturePrinted(t)
  await fillDisk(fixture)
  const refused = fixture.operate('consumer', 'login', { user_id: someone(), extra: LARGE })
  console.error('meanwhile')
  t.equal((await refused).code, 503)
  console.error('afterwards')
  t.same(printed, [['meanwhile'], ['afterwards']])
})
