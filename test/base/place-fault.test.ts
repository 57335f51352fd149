import { join } from 'node:path'
import t from 'tap'
import { faultText } from '../../src/base/fault-text.ts'

const at = (path: string | undefined, code: string) =>
  Object.assign(new Error(`${code}: as the system says it`), { code, syscall: 'write', ...(path && { path }) })

t.test('a fault of a place names it, what went wrong and the remedy, also as the cause of another', async t => {
  t.equal(faultText(at('/x/y', 'ENOSPC')), '/x/y: cannot be written (ENOSPC): its disk is full; free space on it')
  t.match(faultText(at('/x/y', 'EDQUOT')), /^\/x\/y: .*free space on it$/)
  t.match(faultText(at('/x/y', 'EFBIG')), /^\/x\/y: .*raise `ulimit -f`$/)
  t.match(faultText(at('/x/y', 'EROFS')), /^\/x\/y: .*mount it writable$/)
  const outer = new Error('not started', { cause: at('/x/y', 'EROFS') })
  t.match(faultText(outer), /^not started: \/x\/y: cannot be written \(EROFS\)/)
})

t.test('a missing right names what exists there and, of another user, its owner', async t => {
  const folder = t.testdir({ inner: {} })
  const missing = join(folder, 'inner/absent/file')
  t.equal(
    faultText(at(missing, 'EACCES')),
    `${missing}: this user has no permission (EACCES): change the permissions of ${join(folder, 'inner')}`,
  )
  const own = process.geteuid
  t.teardown(() => Object.assign(process, { geteuid: own }))
  const uid = own!()
  Object.assign(process, { geteuid: () => uid + 1 })
  t.match(
    faultText(at(missing, 'EPERM')),
    `${join(folder, 'inner')} belongs to uid ${uid}, and this is uid ${uid + 1}; run this as its owner`,
  )
})

t.test('other faults keep their message', async t => {
  t.equal(faultText(at('/x/y', 'ENOENT')), 'ENOENT: as the system says it')
  t.equal(faultText(at(undefined, 'EACCES')), 'EACCES: as the system says it', 'such as that of a port')
})
