import type { Socket } from 'node:net'
import {
  AndFilter,
  ApproximateFilter,
  BerReader,
  Client,
  Control,
  EqualityFilter,
  ExtensibleFilter,
  GreaterThanEqualsFilter,
  LessThanEqualsFilter,
  type Filter as LibraryFilter,
  NotFilter,
  OrFilter,
  PresenceFilter,
  type Entry as RawEntry,
  ResultCodeError,
  SubstringFilter,
} from 'ldapts'
import type { Filter } from '../../base/ldap/filter.ts'
import { type Bound, DirectoryResult, type Entry, INVALID_CREDENTIALS, type Search } from './operations.ts'
import { type DirectoryServer, openSocket, secure } from './socket.ts'

/* One connection to a server of a directory. The only file that knows the library. */

/** Entries of one answer (RFC 2696): servers have limits of their own, often 1000. */
const PAGE = 500
/** What an operation demands that asks for no attributes (RFC 4511, 4.5.1.8). */
const NO_ATTRIBUTES = ['1.1']
/** Seconds that a server searches at most; the limit of a login is shorter. */
const SERVER_LIMIT = 30

/**
 * A connection with TLS to a verified server. Everything fails with `DirectoryResult` for what the server answers, and with
 * another `Error` when the connection is at fault; then, and when the signal of an operation aborts, the connection is closed.
 * Operations follow one another.
 */
export class Connection {
  readonly server: DirectoryServer
  readonly #socket: Socket
  readonly #client: Client

  private constructor(server: DirectoryServer, socket: Socket) {
    this.server = server
    this.#socket = socket
    this.#client = clientOn(socket)
  }

  /** Fails before anything but StartTLS is sent if the server cannot be verified. */
  static async open(server: DirectoryServer, signal: AbortSignal): Promise<Connection> {
    const socket = await openSocket(server, signal)
    if (!server.isTls) await startTls(socket, signal)
    return new Connection(server, await secure(server, socket, signal))
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.readyState === 'open'
  }

  /** Refuses an empty password: a server would take it for a bind without one, and accept it (RFC 4513, 5.1.2). */
  async bind(dn: string, password: string, signal: AbortSignal): Promise<Bound> {
    if (dn === '' || password === '') throw new Error('a bind needs a name and a password')
    const policy = new PasswordPolicyControl()
    const received: Buffer[] = []
    const keep = (data: Buffer): void => void received.push(data)
    this.#socket.on('data', keep)
    try {
      await this.#run(signal, client => client.bind(dn, password, policy))
    } catch (fault) {
      if (!(fault instanceof DirectoryResult) || fault.code !== INVALID_CREDENTIALS) throw fault
      throw new DirectoryResult(fault.code, fault.diagnostic, refusedBy(policy))
    } finally {
      this.#socket.off('data', keep)
    }
    if (!saysSuccess(Buffer.concat(received))) throw new Error('the answer to the bind has no result')
    return { mustChange: policy.error === CHANGE_AFTER_RESET }
  }

  /** Referrals are not followed: a server that is named in one gets no question and no password. */
  async search({ base, scope, filter, attributes, limit }: Search, signal: AbortSignal): Promise<Entry[]> {
    const found: Entry[] = []
    const options = {
      scope,
      filter: libraryFilter(filter),
      attributes: attributes.length === 0 ? NO_ATTRIBUTES : [...attributes],
      timeLimit: SERVER_LIMIT,
      paged: { pageSize: Math.min(limit, PAGE) },
    }
    await this.#run(signal, async client => {
      // Without a size limit of ours, so that the library reports that of the server.
      for await (const { searchEntries } of client.searchPaginated(base, options)) {
        found.push(...searchEntries.map(entryOf))
        if (found.length >= limit) return
      }
    })
    return found.slice(0, limit)
  }

  close(): void {
    this.#socket.end()
    this.#socket.destroy()
  }

  async #run<T>(signal: AbortSignal, work: (client: Client) => Promise<T>): Promise<T> {
    return closingOn(this.#socket, signal, () => work(this.#client))
  }
}

/** The library gets connections that are open already, so that how they are opened is decided here. */
const clientOn = (socket: Socket): Client =>
  new Client({ url: 'ldap://connected', createConnection: (() => socket) as never })

/** The library listens to the connection for this one operation. */
async function startTls(socket: Socket, signal: AbortSignal): Promise<void> {
  const listeners = ['data', 'end', 'timeout', 'error', 'close'].map(event => ({ event, own: socket.listeners(event) }))
  try {
    await closingOn(socket, signal, () => clientOn(socket).exop('1.3.6.1.4.1.1466.20037'))
  } catch (fault) {
    socket.destroy()
    // Whatever its result: it says nothing about a password.
    throw new Error('StartTLS failed', { cause: fault })
  }
  for (const { event, own } of listeners) {
    socket.removeAllListeners(event)
    for (const listener of own) socket.on(event, listener as () => void)
  }
}

const BIND_RESPONSE = 0x61

/** Whether a response to a bind says so. The library also takes one without a result for a success, and one of another kind. */
function saysSuccess(messages: Buffer): boolean {
  for (let rest = messages; rest.length > 0; ) {
    const reader = new BerReader(rest)
    if (reader.readSequence() === null) return false
    const end = reader.offset + reader.length
    reader.readInt()
    // What the server says without a question stands before it.
    if (reader.readSequence() === BIND_RESPONSE) return reader.length > 0 && reader.readEnumeration() === 0
    rest = rest.subarray(end)
  }
  return false
}

/** Closes the connection when `signal` aborts, and when the work fails for another reason than its result. */
async function closingOn<T>(socket: Socket, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const giveUp = (): void => void socket.destroy()
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    if (signal.aborted) throw signal.reason
    if (socket.destroyed) throw new Error('the connection was closed')
    return await work()
  } catch (fault) {
    if (fault instanceof ResultCodeError) throw resultOf(fault)
    socket.destroy()
    throw fault
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

/** The library adds the code to the text of the server. */
const resultOf = ({ code, message }: ResultCodeError): DirectoryResult =>
  new DirectoryResult(
    code,
    message
      .replace(/ ?Code: 0x[0-9a-f]+$/, '')
      .replaceAll('\0', '')
      .trim(),
  )

function entryOf(raw: RawEntry): Entry {
  const values = new Map<string, readonly Buffer[]>()
  for (const [name, value] of Object.entries(raw)) {
    if (name === 'dn') continue
    const list = Array.isArray(value) ? value : [value]
    // What the library has read as UTF-8 is written back to the same bytes.
    values.set(
      name.toLowerCase(),
      list.map(one => (typeof one === 'string' ? Buffer.from(one) : one)),
    )
  }
  return { dn: raw.dn, values: attribute => values.get(attribute.toLowerCase()) ?? [] }
}

function libraryFilter(filter: Filter): LibraryFilter {
  switch (filter.kind) {
    case 'and':
      return new AndFilter({ filters: filter.filters.map(libraryFilter) })
    case 'or':
      return new OrFilter({ filters: filter.filters.map(libraryFilter) })
    case 'not':
      return new NotFilter({ filter: libraryFilter(filter.filter) })
    case 'present':
      return new PresenceFilter(filter)
    case 'equal':
      return new EqualityFilter(filter)
    case 'approximate':
      return new ApproximateFilter(filter)
    case 'at-least':
      return new GreaterThanEqualsFilter(filter)
    case 'at-most':
      return new LessThanEqualsFilter(filter)
    case 'substrings':
      return new SubstringFilter({ ...filter, any: [...filter.any] })
    case 'rule':
      return new ExtensibleFilter({ ...filter, matchType: filter.attribute })
  }
}

/** Errors of the control (draft-behera-ldap-password-policy-10, 6.2). */
const [EXPIRED, LOCKED, CHANGE_AFTER_RESET] = [0, 1, 2]

const refusedBy = ({ error }: PasswordPolicyControl): DirectoryResult['policy'] =>
  error === EXPIRED ? 'expired' : error === LOCKED ? 'locked' : undefined

/** Asks for the reason beside the result of a bind. Servers that do not know it ignore it. */
class PasswordPolicyControl extends Control {
  error: number | null = null

  constructor() {
    super('1.3.6.1.4.1.42.2.27.8.5.1')
  }

  /** A sequence of a warning, [0], and an error, [1]; each may be absent. */
  override parseControl(reader: BerReader): void {
    if (reader.readSequence() === null) return
    if (reader.peek() === 0xa0) {
      reader.readSequence()
      reader.offset += reader.length
    }
    if (reader.peek() === 0x81) this.error = reader.readTag(0x81)
  }
}
