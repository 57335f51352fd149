import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import type { SessionRecord } from '../../session/record.ts'
import { bySide, type LoginType } from '../../session/sides.ts'
import { createAges } from '../age.ts'
import type { StoreForms } from '../forms.ts'
import { REMEMBERED_AT_MOST, Remembered } from '../remembered-values.ts'
import type { AttemptStore, CaptchaStore, Store, StoreCounts, TicketStore } from '../store.ts'
import { EmbeddedAttempts } from './attempts.ts'
import { EmbeddedCaptchas } from './captchas.ts'
import { ChangeRing, EmbeddedChanges } from './changes.ts'
import type { EmbeddedCredentials } from './credentials/credentials.ts'
import type { EmbeddedFactors } from './credentials/factors.ts'
import { type CredentialFile, openCredentials } from './credentials/file.ts'
import { EmbeddedDisables } from './disables.ts'
import { checkFormat } from './file/format.ts'
import { EmbeddedFile } from './file/lmdb-file.ts'
import { Expiries } from './file/table.ts'
import { warningsOf } from './file/warnings.ts'
import { EmbeddedJournal } from './journal.ts'
import { EmbeddedOnline } from './online/online.ts'
import { EmbeddedSessions } from './sessions.ts'
import { EmbeddedTickets } from './tickets.ts'

/** Every so many milliseconds each worker removes what has expired; the first to come finds the work. */
export const SWEEP_INTERVAL = 30_000

/** `f_type` of file systems whose locks do not hold between machines (statfs(2)). */
const NETWORK_FILE_SYSTEMS = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
])

/**
 * Opens the store of a folder (design, section 5). `timeout` is how long a change may take, in milliseconds; `maxEntries`,
 * how many sessions of a side the process remembers.
 */
export async function openEmbeddedStore(
  folder: string,
  clock: Clock,
  timeout = 1000,
  forms: StoreForms = {},
  maxEntries = REMEMBERED_AT_MOST,
  log?: Logger,
): Promise<EmbeddedStore> {
  const file = await EmbeddedFile.open(folder, timeout, undefined, { clock, ...(log !== undefined && { log }) })
  // Both at once: each may flush to the disk.
  const [checked, opened] = await Promise.allSettled([
    checkFormat(file, 'sessions'),
    openCredentials(folder, timeout, clock, maxEntries, log),
  ])
  try {
    if (checked.status === 'rejected') throw checked.reason
    if (opened.status === 'rejected') throw opened.reason
    const journal = new EmbeddedJournal(folder, timeout)
    return await file.creating(() => new EmbeddedStore(file, opened.value, journal, clock, forms, maxEntries))
  } catch (error) {
    await Promise.all([file.close(), opened.status === 'fulfilled' && opened.value.file.close()])
    throw error
  }
}

/**
 * Sessions in one file and credentials in another, shared by the worker processes of one machine, with no server to start. A change is acknowledged
 * when it is on the disk: a power loss neither loses a login nor gives back what an administrator took away.
 */
export class EmbeddedStore implements Store {
  readonly sessions: EmbeddedSessions
  readonly online: EmbeddedOnline
  readonly changes: EmbeddedChanges
  readonly captchas: CaptchaStore
  readonly tickets: TicketStore
  readonly attempts: AttemptStore
  readonly journal: EmbeddedJournal
  readonly credentials: EmbeddedCredentials
  readonly factors: EmbeddedFactors
  readonly #file: EmbeddedFile
  /** Those that are open with the store. */
  readonly #files: readonly EmbeddedFile[]
  readonly #expiries: Expiries
  readonly #remembered: Readonly<Record<LoginType, Remembered<SessionRecord>>>
  readonly #timer: NodeJS.Timeout
  #sweeping: Promise<number> | null = null

  constructor(
    file: EmbeddedFile,
    credentials: CredentialFile,
    journal: EmbeddedJournal,
    clock: Clock,
    { timestamps }: StoreForms,
    maxEntries: number,
  ) {
    const ages = createAges(timestamps)
    this.#file = file
    this.#files = [file, credentials.file]
    this.credentials = credentials.credentials
    this.factors = credentials.factors
    this.journal = journal
    this.#expiries = new Expiries(file, clock)
    const tokens = this.#expiries.table('tokens', 't', (key, text) => this.sessions.expired(key, text))
    const disables = this.#expiries.table('disables', 'd')
    this.online = new EmbeddedOnline(file, this.#expiries, clock, tokens, disables, ages)
    const ring = new ChangeRing(file)
    this.changes = new EmbeddedChanges([ring, this.credentials.ring])
    this.#remembered = bySide(() => new Remembered<SessionRecord>(() => clock.now(), maxEntries))
    this.sessions = new EmbeddedSessions(
      file,
      this.#expiries,
      tokens,
      new EmbeddedDisables(file, disables, ring, clock, maxEntries),
      this.online,
      ring,
      ages,
      this.#remembered,
    )
    this.captchas = new EmbeddedCaptchas(file, this.#expiries)
    this.tickets = new EmbeddedTickets(file, this.#expiries)
    this.attempts = new EmbeddedAttempts(file, this.#expiries, clock)
    // The next sweep repeats one that fails; meanwhile the requests report the failure.
    this.#timer = setInterval(() => this.sweep().catch(() => undefined), SWEEP_INTERVAL).unref()
  }

  /** Removes what has expired, in small transactions, and answers how many entries. Runs by itself, too. */
  sweep(): Promise<number> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = null
    })
    return this.#sweeping
  }

  counts(): StoreCounts {
    const failedWrites = this.#files.reduce((sum, { outage }) => sum + outage.failures, 0)
    return { caches: bySide(type => this.#remembered[type].counts), failedWrites }
  }

  async #sweep(): Promise<number> {
    const removed = (await this.#expiries.sweep()) + (await this.credentials.sweep())
    await this.online.filter()
    return removed
  }

  /** A change of nothing: also fails when another process holds the lock for too long. */
  async ping(): Promise<void> {
    await this.#file.write(() => undefined)
  }

  async warnings(): Promise<string[]> {
    const found = (await Promise.all(this.#files.map(warningsOf))).flat()
    const network = NETWORK_FILE_SYSTEMS.get((await statfs(dirname(this.#file.path))).type)
    if (network !== undefined) {
      found.push(
        `${this.#file.path} is on ${network}: its locks do not hold there, use a local disk or store.kind redis`,
      )
    }
    return found
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([...this.#files.map(file => file.close()), this.journal.close()])
    await this.#sweeping?.catch(() => undefined)
  }
}
