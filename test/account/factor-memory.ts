import type { FactorPlace } from '../../src/account/stored-factors.ts'
import { Unavailable } from '../../src/base/refusal.ts'

/** A place for second factors that a test owns. */
export interface FactorMemory extends FactorPlace {
  /** By side and login id, with a space between. */
  texts: Map<string, string>
  /** The login ids that were read. */
  reads: string[]
  /** Whether the place fails. */
  isAway: boolean
  /** Called before a text is replaced. */
  beforeReplace: (() => Promise<void>) | null
}

export function memoryOfFactors(): FactorMemory {
  const memory: FactorMemory = {
    texts: new Map(),
    reads: [],
    isAway: false,
    beforeReplace: null,
    async read(type, loginId) {
      memory.reads.push(loginId)
      if (memory.isAway) throw new Unavailable('the place of this test')
      return memory.texts.get(`${type} ${loginId}`) ?? null
    },
    async replace(type, loginId, from, to) {
      if (memory.isAway) throw new Unavailable('the place of this test')
      await memory.beforeReplace?.()
      const key = `${type} ${loginId}`
      if ((memory.texts.get(key) ?? null) !== from) return false
      memory.texts.set(key, to)
      return true
    },
  }
  return memory
}
