import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { bySide, type LoginType } from '../../session/sides.ts'
import { createAges } from '../age.ts'
import type { StoreForms } from '../forms.ts'
import { REMEMBERED_AT_MOST, RememberedSessions } from '../remembered.ts'
import type { AttemptStore, CaptchaStore, Store, StoreCounts, TicketStore } from '../store.ts'
import { EmbeddedAttempts } from './attempts.ts'
import { EmbeddedCaptchas } from './captchas.ts'
import { EmbeddedChanges } from './changes.ts'
import { EmbeddedFile } from './file/file.ts'
import { Expiries } from './file/table.ts'
import { EmbeddedJournal } from './journal.ts'
import { EmbeddedOnline } from './online/online.ts'
import { EmbeddedSessions } from './sessions.ts'
import { EmbeddedTickets } from './tickets.ts'

/** The layout of the file, raised when an older gateway could no longer read it. */
const FORMAT = 1

/** Every so many milliseconds each worker removes what has expired; the first to come finds the work. */
export const SWEEP_INTERVAL = 30_000
/** Entries per transaction of the sweep: some milliseconds in which logins wait. */
const SWEEP_BATCH = 100

const TRIAL_BYTES = 65_536

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
  try {
    await checkFormat(file)
    const journal = new EmbeddedJournal(folder, timeout)
    return await file.creating(() => new EmbeddedStore(file, journal, clock, forms, maxEntries))
  } catch (error) {
    await file.close()
    throw error
  }
}

async function checkFormat(file: EmbeddedFile): Promise<void> {
  const meta = file.table('meta')
  const key = Buffer.from('format')
  const format = await file.write(() => {
    const stored = meta.get(key)
    if (stored === undefined) meta.putSync(key, String(FORMAT))
    return stored === undefined ? FORMAT : Number(stored)
  })
  if (format !== FORMAT) {
    throw new Error(
      `${file.path} has format ${format}, this version of dualgate reads format ${FORMAT}: ` +
        'start the version that wrote it, or move the file away to begin with no sessions',
    )
  }
}

/**
 * Sessions in one file, shared by the worker processes of one machine, with no server to start. A change is acknowledged
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
  readonly #file: EmbeddedFile
  readonly #expiries: Expiries
  readonly #remembered: Readonly<Record<LoginType, RememberedSessions>>
  readonly #timer: NodeJS.Timeout
  #sweeping: Promise<number> | null = null

  constructor(
    file: EmbeddedFile,
    journal: EmbeddedJournal,
    clock: Clock,
    { timestamps }: StoreForms,
    maxEntries: number,
  ) {
    const ages = createAges(timestamps)
    this.#file = file
    this.journal = journal
    this.#expiries = new Expiries(file, clock)
    const tokens = this.#expiries.table(file, 'tokens', 't', (key, text) => this.sessions.expired(key, text))
    const disables = this.#expiries.table(file, 'disables', 'd')
    this.online = new EmbeddedOnline(file, this.#expiries, clock, tokens, disables, ages)
    this.changes = new EmbeddedChanges(file)
    this.#remembered = bySide(() => new RememberedSessions(clock, maxEntries))
    this.sessions = new EmbeddedSessions(
      file,
      this.#expiries,
      tokens,
      disables,
      this.online,
      this.changes,
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
    return { caches: bySide(type => this.#remembered[type].counts), failedWrites: this.#file.outage.failures }
  }

  async #sweep(): Promise<number> {
    let removed = 0
    while (this.#file.read(() => this.#expiries.anyDue())) {
      removed += await this.#file.write(() => this.#expiries.removeDue(SWEEP_BATCH))
    }
    await this.online.filter()
    return removed
  }

  /** A change of nothing: also fails when another process holds the lock for too long. */
  async ping(): Promise<void> {
    await this.#file.write(() => undefined)
  }

  async warnings(): Promise<string[]> {
    const found: string[] = []
    if (this.#file.outage.warning !== null) await this.#tryToWrite()
    if (this.#file.outage.warning !== null) found.push(this.#file.outage.warning)
    const { mode } = await stat(this.#file.path)
    if ((mode & 0o077) !== 0) {
      found.push(`${this.#file.path} can be read by other users of this machine: chmod 600`)
    }
    const network = NETWORK_FILE_SYSTEMS.get((await statfs(dirname(this.#file.path))).type)
    if (network !== undefined) {
      found.push(
        `${this.#file.path} is on ${network}: its locks do not hold there, use a local disk or store.kind redis`,
      )
    }
    return found
  }

  /** A change that needs new pages of the file: without one, nothing would show that a disk has room again. */
  async #tryToWrite(): Promise<void> {
    const meta = this.#file.table('meta')
    const key = Buffer.from('trial')
    try {
      await this.#file.add(() => void meta.putSync(key, 'x'.repeat(TRIAL_BYTES)))
      await this.#file.write(() => void meta.removeSync(key))
    } catch {
      // The file has noted it.
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([this.#file.close(), this.journal.close()])
    await this.#sweeping?.catch(() => undefined)
  }
}
