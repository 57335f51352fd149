import { Cluster, type Redis } from 'ioredis'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log/log.ts'
import {
  type Acknowledged,
  AcknowledgedChanges,
  type Disabled,
  MAX_DISABLED,
  type Sharing,
} from '../../acknowledged-changes.ts'
import type { Scripts } from '../commands/key-scripts.ts'
import type { Memory } from '../commands/redis-commands.ts'
import { type Ask, createAsk, type Gate } from '../commands/send-command.ts'
import type { RedisClient } from '../connection/client.ts'
import { summaryOf } from '../connection/fault.ts'
import { answerOf } from '../connection/silence.ts'
import { AcknowledgedStream } from './acknowledged-stream.ts'
import { ClusterMasters } from './cluster-masters.ts'
import { ServerGate } from './server-gate.ts'

/** Changes that are repeated at once. */
const BATCH = 500
/** Before changes are repeated again that a full Redis refused, in milliseconds. */
const RETRY_PAUSE = 1000

export interface RepeatsOptions {
  client: RedisClient
  /** The connection on which the journal is read. */
  line: RedisClient
  /** Key of the journal. */
  journal: string
  timeout: number
  clock: Clock
  log: Logger
  sharing: Sharing
}

/**
 * Keeps what was acknowledged true on whichever server answers. Each change is remembered here, passed to the other
 * processes of this gateway and written to the journal for other gateways, before it is acknowledged. What another server
 * has confirmed is repeated on a server that took over, before anything else is asked there. What the present server has
 * confirmed is not repeated, because it may have been changed there since. In a Cluster masters change one by one: there the
 * memory itself answers for what it knows, and changes are repeated as soon as their master is there.
 */
export class Repeats implements Memory {
  readonly changes: AcknowledgedChanges
  readonly gate: Gate
  readonly ask: Ask
  /** Receives the keys of what other processes have ended, disabled or untied. */
  onReceived: (key: string) => void = () => undefined
  readonly #client: RedisClient
  readonly #clock: Clock
  readonly #log: Logger
  readonly #stream: AcknowledgedStream
  readonly #sharing: Sharing
  /** A server that is asked may have missed something. */
  #isBehind = false
  /** A server has refused changes that it does not have yet. */
  #isFull = false
  /** Repeats under way beside questions. */
  #repeating = 0
  /** What came while no server was checked, and is repeated with the next: also with the one of before, which may miss it. */
  #late: AcknowledgedChanges
  /** Login ids whose changes were repeated: a later change by another process may have come before that, and is repeated, too. */
  readonly #repeated = new Set<string>()
  /**
   * The server that was prepared last, and has what it confirmed itself. `null` for one without an id, and for a Cluster, in
   * which it is unknown who confirmed what.
   */
  #present: string | null = null
  #isClosed = false
  #pending: Acknowledged[] = []
  #passing: Promise<void> | null = null
  #retry: NodeJS.Timeout | null = null

  constructor({ client, line, journal, timeout, clock, log, sharing }: RepeatsOptions) {
    this.#client = client
    this.#clock = clock
    this.#log = log
    this.#sharing = sharing
    this.changes = new AcknowledgedChanges(clock)
    this.#late = new AcknowledgedChanges(clock)
    const unsettled = (): void => {
      this.#isBehind = true
    }
    this.gate =
      client instanceof Cluster
        ? new ClusterMasters(client, unsettled, () => this.#repeatAll())
        : new ServerGate(client, { prepare: id => this.#prepare(id), resume: () => this.#resume() })
    this.ask = createAsk(client, timeout, this.gate)
    this.#stream = new AcknowledgedStream({ client, line, ask: this.ask, key: journal, timeout, log })
    this.#stream.follow(changes => this.#receive(changes))
    sharing.receive(changes => this.#receive(changes))
  }

  /** Whether every server that is asked has everything that is remembered; a server behind a closed gate is not asked. */
  get isSettled(): boolean {
    return !this.#isBehind && this.#repeating === 0
  }

  get server(): string {
    return this.gate.server?.id ?? ''
  }

  /** Remembers a change and passes it on. Resolves when it may be acknowledged. */
  acknowledge(change: Acknowledged): Promise<void> {
    this.changes.add([change])
    this.#pending.push(change)
    // What one verb changes is passed on together.
    this.#passing ??= Promise.resolve().then(() => this.#pass())
    return this.#passing
  }

  async #pass(): Promise<void> {
    const changes = this.#pending
    this.#pending = []
    this.#passing = null
    await Promise.all([this.#sharing.share(changes), this.#stream.append(changes)])
  }

  /** A change of a login id: later than every one that is known of it. */
  acknowledgeDisabled(change: Omit<Disabled, 'kind' | 'server'>): Promise<void> {
    const known = this.changes.disabled(change.key)
    const version = Math.max(change.version, (known?.version ?? 0) + 1)
    return this.acknowledge({ ...change, kind: 'disabled', server: this.server, version })
  }

  #receive(changes: readonly Acknowledged[]): void {
    const news = this.changes.add(changes)
    if (news.length === 0) return
    for (const { key } of news) this.onReceived(key)
    const { server } = this
    if (server === '') this.#late.add(news)
    else void this.#repeatMissing(news.filter(change => this.#mayMiss(change, server)))
  }

  /** Whether a server may miss a change; `null` is a server without an id. */
  #mayMiss({ key, server }: Acknowledged, present: string | null): boolean {
    return server !== present || this.#repeated.has(key)
  }

  async #repeatMissing(missing: readonly Acknowledged[]): Promise<void> {
    if (missing.length === 0) return
    this.#repeating++
    try {
      this.#settle(await this.#repeat(missing), this.#isBehind)
    } catch {
      this.#isBehind = true
      this.#retryLater()
    } finally {
      this.#repeating--
    }
  }

  async #prepare(server: string | null): Promise<void> {
    try {
      for await (const changes of this.#stream.read()) this.#receive(changes)
    } catch (error) {
      if ((error as Error).name !== 'ReplyError') throw error
      this.#log.error({ fault: summaryOf(error) }, 'what other gateways ended is not known')
    }
    this.#present = server
    await this.#repeatAll()
  }

  /** The server that was prepared last answers again. */
  async #resume(): Promise<void> {
    this.#settle(await this.#repeatUntilNone(this.#late.all()), this.#isBehind)
  }

  async #repeatAll(): Promise<void> {
    this.#settle(await this.#repeatUntilNone(this.changes.all()), false)
  }

  /** Repeats changes, and then what has come late meanwhile. Answers how many Redis refused because it is full. */
  async #repeatUntilNone(changes: Acknowledged[]): Promise<number> {
    const present = this.#present
    let refused = 0
    for (let next = changes; next.length > 0; next = this.#late.all()) {
      this.#late = new AcknowledgedChanges(this.#clock)
      refused += await this.#repeat(next.filter(change => this.#mayMiss(change, present)))
    }
    return refused
  }

  /** A full Redis stores no disable; until it does, the memory answers for them. */
  #settle(refused: number, isBehind: boolean): void {
    this.#isBehind = refused > 0 || isBehind
    this.#report(refused)
    if (refused > 0) this.#retryLater()
  }

  /** Once, and not with every attempt. */
  #report(refused: number): void {
    if (refused > 0 && !this.#isFull)
      this.#log.error({ refused }, 'Redis is full: disabled login ids are known to this process only')
    if (refused > 0) this.#isFull = true
    if (this.#isBehind || !this.#isFull) return
    this.#isFull = false
    this.#log.info('Redis has the disabled login ids again')
  }

  #retryLater(): void {
    if (this.#isClosed) return
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#retry = setTimeout(() => {
      this.#repeatAll().catch(() => {
        this.#isBehind = true
        this.#retryLater()
      })
    }, RETRY_PAUSE).unref()
  }

  /** Answers how many Redis refused because it is full; rejects when any may not have happened for another reason. */
  async #repeat(changes: readonly Acknowledged[]): Promise<number> {
    const client = this.#client as Redis & Scripts
    let refused = 0
    const full = (error: Error): void => {
      if (!error.message.startsWith('OOM')) throw error
      refused++
    }
    for (let i = 0; i < changes.length; i += BATCH) {
      const batch = changes.slice(i, i + BATCH).map(change => this.#latest(change))
      await Promise.all(batch.map(change => answerOf(client, repeat(client, change)).catch(full)))
    }
    return refused
  }

  /** What is repeated of a login id is the last change that is known now. */
  #latest(change: Acknowledged): Acknowledged {
    if (change.kind !== 'disabled') return change
    if (this.#repeated.size >= MAX_DISABLED) this.#repeated.clear()
    this.#repeated.add(change.key)
    return this.changes.disabled(change.key) ?? change
  }

  close(): void {
    this.#isClosed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    this.#stream.close()
  }
}

/** Never takes back what a later change did. */
function repeat(client: Redis & Scripts, change: Acknowledged): Promise<unknown> {
  if (change.kind === 'ended') return client.unlink(change.key)
  if (change.kind === 'kicked') return client.kickoutRepeat(change.key, change.count)
  return client.disableRepeat(change.key, Math.ceil(change.until), ...change.replaced)
}
