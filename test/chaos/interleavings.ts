import { openDeleter, startDeleter } from '../store/tracking-actors.ts'
import { openTracked, remember } from '../store/tracking-fixture.ts'
import { interleave, PROMISE } from '../store/tracking-interleavings.ts'
import { startRedis } from '../support/redis-server.ts'

export interface InterleavingsReport {
  interleavings: number
  /** Sessions that a request got from memory later than promised, though the machine gave time to know better. */
  late: number
  /** Sessions that Redis itself answered after their end was acknowledged. */
  revived: number
}

/** Ends so many sessions while requests use them, by a process of its own or by this one. */
export async function endWhileUsed(count: number, processes: 1 | 2): Promise<InterleavingsReport> {
  const ends: (() => unknown)[] = []
  const t = { teardown: (end: () => unknown) => void ends.unshift(end) }
  try {
    const server = await startRedis()
    t.teardown(() => server.stop())
    const { store } = await openTracked(t, server)
    await remember(store)
    const { create, end, close } = processes === 2 ? startDeleter(server.url) : await openDeleter({ url: server.url })
    t.teardown(close)
    const { interleavings, latenessOfLook, revived, stolen } = await interleave({ serving: store, create, end }, count)
    return { interleavings, late: latenessOfLook.filter(ms => ms > PROMISE + stolen).length, revived }
  } finally {
    for (const end of ends) await end()
  }
}
