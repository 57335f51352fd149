import t from 'tap'
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts'
import { clockOf } from '../support/clock.ts'
import { PATIENCE } from '../support/until.ts'
import { storeContract } from './contract.ts'

await storeContract(t, 'embedded', () => openUnderTest(false))
await storeContract(t, 'embedded, swept at every step of time', () => openUnderTest(true))

async function openUnderTest(sweep: boolean) {
  let now = Date.UTC(2025, 0, 31, 12)
  const clock = clockOf(() => now)
  const store = await openEmbeddedStore(t.testdir(), clock, PATIENCE)
  return {
    store,
    clock,
    began: null,
    async fastForward(ms: number) {
      now += ms
      if (sweep) await store.sweep()
    },
    sweep: () => store.sweep(),
    announces: true,
    close: () => store.close(),
  }
}
