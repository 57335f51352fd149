import type { ConnectionSettings } from '../../settings/schema/targets.ts'
import { ClientShares } from './client-shares.ts'
import type { Connect } from './connect.ts'
import { Connection } from './connection.ts'
import { Queue } from './queue.ts'
import type { Receiver, UpstreamRequest } from './receiver.ts'

/** A request that got no connection in time: nothing of it was sent. */
export class TargetBusy extends Error {
  constructor(why: string) {
    super(why)
    this.name = 'TargetBusy'
  }
}

export interface ConnectionsOptions {
  connect: Connect
  responseLimit: number
  settings: ConnectionSettings
  /** Whether connections have a maximum age, because the address behind a name may change. */
  growOld: boolean
}

/** The connections of a target that one client address may always use. */
const SMALLEST_SHARE = 20

/** The default share of one client address in `limit` places: half, so that others are served. */
const shareOf = (limit: number): number => Math.max(SMALLEST_SHARE, Math.ceil(limit / 2))

/**
 * The connections to one target: no more than its limit, and a bounded queue of requests that wait for one. A client
 * address has a share of both. Its requests beyond the share wait until one of its own ends; requests of others
 * overtake them.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  /** All connections, each with the period in which it was opened. */
  readonly #all = new Map<Connection, number>()
  /** Idle connections. The most recently used is used next, so that the others stay idle. */
  readonly #free: Connection[] = []
  /** Connections whose response is complete, until the rest of the received data has been checked. */
  #released: Connection[] = []
  readonly #waiting = new Queue()
  /** Half of a connection's lifetime. */
  #period = 0
  readonly #aging: NodeJS.Timeout | null
  readonly #inUse: ClientShares
  readonly #queueShare: number
  #isClosed = false
  #isRetired = false

  constructor(options: ConnectionsOptions) {
    const { limit, queue, per_address: perAddress = shareOf(limit) } = options.settings
    this.#options = options
    this.#inUse = new ClientShares(perAddress)
    this.#queueShare = shareOf(queue)
    const half = Math.ceil(options.settings.lifetime / 2)
    this.#aging = options.growOld ? setInterval(() => this.#growOlder(), half).unref() : null
  }

  /** Requests in progress or waiting. */
  get open(): number {
    return this.#all.size - this.#free.length - this.#released.length + this.#waiting.size
  }

  /** Requests that wait for a connection. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Whether a slow request would leave half of the connections to other clients, and half of its client's share. */
  admitsSlow(client: string): boolean {
    return (
      this.#waiting.size === 0 && 2 * (this.open + 1) <= this.#options.settings.limit && this.#inUse.hasHalf(client)
    )
  }

  /** Never throws; if a request cannot be sent, the receiver gets the error. */
  dispatch(request: UpstreamRequest, receiver: Receiver): void {
    if (this.#isClosed) receiver.onError(new TargetBusy('the gateway has closed its connections'))
    else if (this.#inUse.hasRoom(request.client)) this.#sendOrWait(request, receiver)
    else this.#wait(request, receiver)
  }

  #sendOrWait(request: UpstreamRequest, receiver: Receiver): void {
    const connection = this.#free.pop()
    if (connection !== undefined) this.#send(connection, request, receiver)
    else if (this.#all.size < this.#options.settings.limit) this.#send(this.#connect(), request, receiver)
    else this.#wait(request, receiver)
  }

  #send(connection: Connection, request: UpstreamRequest, receiver: Receiver): void {
    connection.client = request.client
    this.#inUse.enter(request.client)
    connection.send(request, receiver)
  }

  /** The client has one connection less in use. */
  #leave(connection: Connection): void {
    if (connection.client !== null) this.#inUse.leave(connection.client)
    connection.client = null
  }

  /** Removes a request that waits for a connection, if it does. */
  takeBack(receiver: Receiver): void {
    this.#waiting.remove(receiver)
  }

  #connect(): Connection {
    const { connect, responseLimit, settings } = this.#options
    const connection = new Connection({
      connect,
      responseLimit,
      idleLimit: settings.idle,
      onFree: this.#onFree,
      onGone: this.#onGone,
      onUnsent: (again, itsReceiver) => {
        itsReceiver.onUnsent?.()
        this.dispatch(again, itsReceiver)
      },
    })
    this.#all.set(connection, this.#period)
    return connection
  }

  #wait(request: UpstreamRequest, receiver: Receiver): void {
    const { queue, wait } = this.#options.settings
    const isFull = this.#waiting.size >= queue || this.#waiting.sizeOf(request.client) >= this.#queueShare
    if (isFull || request.hasWaited) {
      receiver.onError(
        new TargetBusy(isFull ? 'its queue is full' : 'no connection is free, and the time to wait is over'),
      )
      return
    }
    const timer = setTimeout(() => {
      request.hasWaited = true
      this.#waiting.remove(receiver)
      receiver.onError(new TargetBusy(`no connection became free in ${wait} ms`))
    }, wait)
    this.#waiting.add({ request, receiver, timer })
  }

  /** A second answer directly after the first must not count as the answer to the next request. */
  #onFree = (connection: Connection): void => {
    this.#leave(connection)
    if (this.#released.push(connection) === 1) setImmediate(this.#admitReleased)
  }

  #admitReleased = (): void => {
    const released = this.#released
    this.#released = []
    for (const connection of released) {
      if (!connection.isFree) continue
      if (this.#isRetired || (this.#aging !== null && this.#isOld(connection))) {
        // Its place goes to the next request that waits.
        connection.close()
        continue
      }
      this.#free.push(connection)
      if (this.#waiting.size > 0) this.#serveNext()
    }
  }

  #onGone = (connection: Connection): void => {
    this.#leave(connection)
    this.#all.delete(connection)
    remove(this.#free, connection)
    remove(this.#released, connection)
    if (this.#waiting.size > 0 && !this.#isClosed) this.#serveNext()
  }

  #serveNext(): void {
    const next = this.#waiting.next(client => this.#inUse.hasRoom(client))
    if (next !== null) this.#sendOrWait(next.request, next.receiver)
  }

  #isOld(connection: Connection): boolean {
    return this.#period - this.#all.get(connection)! >= 2
  }

  #growOlder(): void {
    this.#period++
    for (const connection of this.#free.filter(one => this.#isOld(one))) connection.close()
  }

  /** Closes connections as soon as they are idle. Requests that wait are served. */
  retire(): void {
    this.#isRetired = true
    if (this.#aging !== null) clearInterval(this.#aging)
    for (const connection of [...this.#free]) connection.close()
  }

  /** Ends what is under way and gives up the connections. */
  close(): void {
    this.#isClosed = true
    if (this.#aging !== null) clearInterval(this.#aging)
    for (const { receiver } of this.#waiting.drain()) {
      receiver.onError(new TargetBusy('the gateway has closed its connections'))
    }
    for (const connection of [...this.#all.keys()]) connection.close()
  }
}

function remove(connections: Connection[], connection: Connection): void {
  const index = connections.indexOf(connection)
  if (index !== -1) connections.splice(index, 1)
}
