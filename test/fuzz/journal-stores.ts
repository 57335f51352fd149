import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { openRedisUnderTest } from '../store/redis-under-test.ts'
import { startRedis } from '../support/redis-server.ts'
import { PATIENCE } from '../support/until.ts'
import { fuzzJournal } from './journal.ts'
import type { SequenceOptions } from './model.ts'

/* Each store is opened twice, as by two workers or two gateways. */

export async function fuzzEmbeddedJournal(options: SequenceOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-journal-'))
  const stores = await Promise.all([1, 2].map(() => openEmbeddedStore(folder, systemClock, PATIENCE)))
  try {
    return await fuzzJournal(stores[0]!.journal, stores[1]!.journal, options)
  } finally {
    await Promise.all(stores.map(store => store.close()))
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function fuzzRedisJournal(options: SequenceOptions) {
  const server = await startRedis()
  const one = await openRedisUnderTest({ url: server.url })
  const other = await openRedisUnderTest({ url: server.url }, { flush: false })
  try {
    return await fuzzJournal(one.store.journal, other.store.journal, options)
  } finally {
    await Promise.all([one.close(), other.close()])
    await server.stop()
  }
}
