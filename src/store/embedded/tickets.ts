import type { LoginType } from '../../session/sides.ts'
import type { TicketStore } from '../store.ts'
import type { EmbeddedFile } from './file/lmdb-file.ts'
import { sideKey } from './file/members.ts'
import { type Expiries, type ExpiringTable, MAX_ENTRY_KEY_BYTES } from './file/table.ts'

/** One table: side, id -> the text. */
export class EmbeddedTickets implements TicketStore {
  readonly #file: EmbeddedFile
  readonly #texts: ExpiringTable

  constructor(file: EmbeddedFile, expiries: Expiries) {
    this.#file = file
    this.#texts = expiries.table('tickets', 'k')
  }

  async put(type: LoginType, id: string, text: string, expiresAt: number): Promise<void> {
    const key = keyOf(type, id)
    return this.#file.add(() => this.#texts.put(key, text, expiresAt))
  }

  async replace(type: LoginType, id: string, known: string | null, text: string, expiresAt: number): Promise<boolean> {
    const key = keyOf(type, id)
    return this.#file.write(() => {
      const stored = this.#texts.get(key)
      if ((stored?.text ?? null) !== known) return false
      this.#texts.put(key, text, Math.max(expiresAt, stored?.expiresAt ?? 0))
      return true
    })
  }

  async read(type: LoginType, id: string): Promise<string | null> {
    return this.#file.read(() => this.#texts.get(sideKey(type, id))?.text ?? null)
  }

  async take(type: LoginType, id: string): Promise<string | null> {
    const key = sideKey(type, id)
    // Unknown ids are recognized here, without the lock, so that guesses do not delay other clients.
    if ((await this.read(type, id)) === null) return null
    return this.#file.write(() => this.#texts.remove(key)?.text ?? null)
  }
}

function keyOf(type: LoginType, id: string): Buffer {
  const key = sideKey(type, id)
  if (key.length > MAX_ENTRY_KEY_BYTES) throw new RangeError('the ticket id is too long to be stored')
  return key
}
