import type { Redis } from 'ioredis'
import type { Logger } from '../../../base/log/log.ts'
import { type Acknowledged, MAX_RECENT, MEMORY, readAcknowledged } from '../../acknowledged-changes.ts'
import type { Scripts } from '../commands/key-scripts.ts'
import { type Ask, isRedirection } from '../commands/send-command.ts'
import type { RedisClient } from '../connection/client.ts'
import { cut } from '../connection/connections.ts'
import { summaryOf } from '../connection/fault.ts'
import { answerOf } from '../connection/silence.ts'

/*
 * What was acknowledged, for the other gateways of a store and for those that start later: a stream under one key, of
 * which every process reads the end on a connection of its own. A stream rather than a channel: a gateway that was away
 * for a short time, or started later, finds what it missed.
 */

/** Entries that are read at once. */
const PAGE = 1000
/** Entries that are appended at once. */
const APPENDED = 500
/** Before the stream is asked again that could not be read, in milliseconds. */
const RETRY_PAUSE = 250

type Entries = [id: string, fields: string[]][]

export interface AcknowledgedStreamOptions {
  client: RedisClient
  /** The connection on which the end of the journal is read, and nothing else. */
  line: RedisClient
  ask: Ask
  key: string
  timeout: number
  log: Logger
}

export class AcknowledgedStream {
  readonly #client: RedisClient
  readonly #ask: Ask
  readonly #key: string
  readonly #log: Logger
  readonly #line: RedisClient
  readonly #wait: number
  #isClosed = false
  #fails = false

  constructor({ client, line, ask, key, timeout, log }: AcknowledgedStreamOptions) {
    this.#client = client
    this.#ask = ask
    this.#key = key
    this.#log = log
    this.#line = line
    // A connection on which nothing arrives for `timeout` is given up.
    this.#wait = Math.ceil(timeout / 2)
  }

  /**
   * Resolves when every gateway that follows can read them. What Redis refuses to keep, because it is full or this user may
   * not write there, is remembered by this gateway alone, and the log says so.
   */
  async append(changes: readonly Acknowledged[]): Promise<void> {
    const client = this.#client as unknown as Pick<Scripts, 'journalAppend'>
    for (let i = 0; i < changes.length; i += APPENDED) {
      const entries = changes.slice(i, i + APPENDED).map(change => JSON.stringify(change))
      await this.#ask(() =>
        client.journalAppend(this.#key, MEMORY, MAX_RECENT, ...entries).then(this.#kept, this.#refused),
      )
    }
  }

  readonly #kept = (): void => {
    if (this.#fails) this.#log.info('other gateways are notified of ended sessions again')
    this.#fails = false
  }

  readonly #refused = (error: Error): void => {
    if (error.name !== 'ReplyError' || error.message.startsWith('READONLY') || isRedirection(error)) throw error
    if (!this.#fails) this.#log.error({ fault: summaryOf(error) }, 'other gateways are not notified of ended sessions')
    this.#fails = true
  }

  /** Everything it holds, a page at a time. Asked on the connection itself: no other question may be asked there yet. */
  async *read(): AsyncIterable<Acknowledged[]> {
    for (let from = '-'; ; ) {
      const entries = (await answerOf(
        this.#client,
        this.#client.xrange(this.#key, from, '+', 'COUNT', PAGE),
      )) as Entries
      yield changesOf(entries)
      if (entries.length < PAGE) return
      from = `(${entries.at(-1)![0]}`
    }
  }

  /** Hands on what it holds, and then what comes, until it is closed. */
  follow(receiver: (changes: Acknowledged[]) => void): void {
    let reading: object | null = null
    this.#line.on('close', () => {
      reading = null
    })
    this.#line.on('ready', async () => {
      const mine = {}
      reading = mine
      for (let last = '0'; reading === mine && !this.#isClosed; ) {
        const entries = await this.#next(last)
        last = entries === null ? '0' : (entries.at(-1)?.[0] ?? last)
        if (entries !== null) receiver(changesOf(entries))
      }
    })
  }

  /** What comes after an entry, as soon as there is any; `null` when the stream cannot be read. */
  async #next(last: string): Promise<Entries | null> {
    try {
      const line = this.#line as Redis
      const found = await answerOf(line, line.xread('COUNT', PAGE, 'BLOCK', this.#wait, 'STREAMS', this.#key, last))
      return (found?.[0]?.[1] ?? []) as Entries
    } catch {
      await new Promise(resolve => setTimeout(resolve, RETRY_PAUSE).unref())
      return null
    }
  }

  close(): void {
    this.#isClosed = true
    cut(this.#line)
  }
}

const changesOf = (entries: Entries): Acknowledged[] =>
  entries.flatMap(([, fields]) => readAcknowledged(fields[1] ?? '') ?? [])
