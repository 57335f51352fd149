import { Redis } from 'ioredis'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import type { Settings } from '../../settings/schema/settings.ts'
import { NO_SHARING } from '../acknowledged-changes.ts'
import { createAges } from '../age.ts'
import { type Changes, NO_CHANGES } from '../changes.ts'
import type { StoreForms } from '../forms.ts'
import type { JournalStore } from '../journal.ts'
import type { OnlineUsers } from '../online.ts'
import type { AttemptStore, CaptchaStore, Store, StoreCounts, TicketStore } from '../store.ts'
import { RedisAttempts } from './attempts.ts'
import { RedisCaptchas } from './captchas.ts'
import { commandsOn, readCommands } from './commands/commands-on-client.ts'
import { createKeys } from './commands/key-names.ts'
import { SCRIPTS, TWO_KEY_SCRIPTS } from './commands/key-scripts.ts'
import type { KeyReads, RedisCommands } from './commands/redis-commands.ts'
import { type Connections, connect } from './connection/connections.ts'
import { redisWarnings } from './connection/warnings.ts'
import { credentialCommandsOn } from './credentials/commands.ts'
import { RedisCredentials } from './credentials/credentials.ts'
import { factorCommandsOn, RedisFactors } from './credentials/factors.ts'
import { Repeats } from './failover/repeats.ts'
import { ReplicaProof } from './failover/replica-proof.ts'
import { RedisJournal } from './journal.ts'
import { onlineCommandsOn } from './online/commands.ts'
import { OnlineComparison } from './online/compare.ts'
import { RedisOnline } from './online/online.ts'
import { RedisUpkeep } from './online/upkeep.ts'
import { OnlineWriter } from './online/writes.ts'
import { type RememberableReads, rememberableReads } from './rememberable.ts'
import { RedisSessions } from './sessions/sessions.ts'
import { RedisTickets } from './tickets.ts'

/** Opens the store in Redis (design, section 5). Without Redis it opens, too, and is unavailable until Redis is there. */
export async function openRedisStore(
  settings: Settings['store'],
  clock: Clock,
  log: Logger,
  forms: StoreForms = {},
): Promise<RedisStore> {
  if (settings.redis === undefined) throw new Error('store.redis says where Redis is; it is missing')
  const connections = await connect(settings.redis, settings.timeout, log)
  return new RedisStore(connections, settings, clock, log, forms)
}

export class RedisStore implements Store {
  readonly sessions: RedisSessions
  readonly credentials: RedisCredentials
  readonly factors: RedisFactors
  readonly online: OnlineUsers
  readonly captchas: CaptchaStore
  readonly tickets: TicketStore
  readonly attempts: AttemptStore
  readonly journal: JournalStore
  readonly changes: Changes = NO_CHANGES
  readonly connections: Connections
  readonly repeats: Repeats
  /** Whether replicas have everything that was changed before; absent unless `store.redis.wait` asks for it. */
  readonly isReplicated?: () => Promise<boolean>
  /** Reads as the store does, by other reads of its keys. */
  readonly readsBy: (reads: KeyReads) => RememberableReads
  readonly #commands: RedisCommands
  readonly #writer: OnlineWriter
  readonly #upkeep: RedisUpkeep
  readonly #probe: string
  readonly #clock: Clock
  readonly #proof: ReplicaProof | null = null
  #closed: Promise<void> | null = null

  constructor(connections: Connections, settings: Settings['store'], clock: Clock, log: Logger, forms: StoreForms) {
    this.#clock = clock
    const { prefix, timeout } = settings
    const client = connections.store
    const { timestamps, captchaKey, sharing = NO_SHARING } = forms
    const ages = createAges(timestamps)
    const keys = createKeys(prefix, captchaKey)
    for (const [name, lua] of Object.entries(SCRIPTS)) client.defineCommand(name, { numberOfKeys: 1, lua })
    for (const [name, lua] of Object.entries(TWO_KEY_SCRIPTS)) client.defineCommand(name, { numberOfKeys: 2, lua })
    const repeats = new Repeats({
      client,
      line: connections.open('journal'),
      journal: keys.journal,
      timeout,
      clock,
      log,
      sharing,
    })
    const commands = commandsOn(client, repeats.ask, repeats, clock)
    const online = onlineCommandsOn(client, repeats.ask, keys, clock)
    this.connections = connections
    this.repeats = repeats
    this.#commands = commands
    this.#probe = `${prefix}:probe`
    const wait = settings.redis?.wait ?? 'off'
    if (wait !== 'off' && client instanceof Redis) {
      const proof = new ReplicaProof(connections.open('proof') as Redis, keys.mark, repeats.gate, wait)
      this.#proof = proof
      this.isReplicated = () => proof.prove()
    }
    const comparison = new OnlineComparison(online, new RedisSessions(commands, keys, clock), clock, ages)
    this.#writer = new OnlineWriter(online, comparison, clock, ages)
    this.#upkeep = new RedisUpkeep(online, this.#writer, comparison, clock)
    this.sessions = new RedisSessions(commands, keys, clock, this.#writer, ages)
    const credentialCommands = { ...commands, ...credentialCommandsOn(client, repeats.ask) }
    this.credentials = new RedisCredentials(credentialCommands, keys, clock)
    this.factors = new RedisFactors({ ...commands, ...factorCommandsOn(client, repeats.ask) }, keys)
    this.readsBy = reads => {
      const read = readCommands(reads, () => true, repeats.ask, repeats, clock)
      return rememberableReads(
        new RedisSessions({ ...commands, ...read }, keys, clock, this.#writer, ages),
        new RedisCredentials({ ...credentialCommands, ...read }, keys, clock),
      )
    }
    this.online = new RedisOnline(online, this.#writer, clock, this.#upkeep.reindex)
    this.captchas = new RedisCaptchas(commands, keys, clock)
    this.tickets = new RedisTickets(commands, keys, clock)
    this.attempts = new RedisAttempts(commands, keys, clock)
    this.journal = new RedisJournal(client, repeats.ask, keys)
  }

  async ping(): Promise<void> {
    await this.#commands.get(this.#probe)
  }

  warnings(): Promise<string[]> {
    return redisWarnings(this.connections.store, this.#probe, this.#clock)
  }

  counts(): StoreCounts {
    return { caches: {} }
  }

  /** Resolves when the online keys say what this process has changed, or when that was given up. */
  async settled(): Promise<void> {
    await this.#upkeep.settled()
    await this.#writer.settled()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    await this.#upkeep.close()
    await this.settled()
    this.repeats.close()
    this.#proof?.close()
    await this.connections.close()
  }
}
