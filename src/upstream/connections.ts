import type { ConnectionSettings } from '../config/upstream-schema.ts'
import type { Connect } from './connect.ts'
import { Connection } from './connection.ts'
import type { Receiver, UpstreamRequest } from './receiver.ts'

/** A request for which there was no connection, and none in time: nothing of it was sent. */
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
  /** Whether connections grow old, because the address behind a name may change. */
  growOld: boolean
}

interface Waiting {
  request: UpstreamRequest
  timer: NodeJS.Timeout
}

/** The connections to one target: no more than its limit, and a bounded queue of requests that wait for one. */
export class Connections {
  readonly #options: ConnectionsOptions
  /** All there are, each with the period in which it was made. */
  readonly #all = new Map<Connection, number>()
  /** Those without a request; the one that was used last is used next, so that the others grow idle. */
  readonly #free: Connection[] = []
  /** Those whose response is over, until what else has arrived on them was looked at. */
  #released: Connection[] = []
  /** Oldest first. */
  readonly #waiting = new Map<Receiver, Waiting>()
  /** Half of a connection's lifetime. */
  #period = 0
  readonly #aging: NodeJS.Timeout | null
  #isClosed = false

  constructor(options: ConnectionsOptions) {
    this.#options = options
    const half = Math.ceil(options.settings.lifetime / 2)
    this.#aging = options.growOld ? setInterval(() => this.#growOlder(), half).unref() : null
  }

  /** Requests that are under way or wait. */
  get open(): number {
    return this.#all.size - this.#free.length - this.#released.length + this.#waiting.size
  }

  /** Requests that wait for a connection. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Never throws; a request that cannot be sent is told to the receiver. */
  dispatch(request: UpstreamRequest, receiver: Receiver): void {
    const connection = this.#free.pop()
    if (connection !== undefined) connection.send(request, receiver)
    else if (this.#isClosed) receiver.onError(new TargetBusy('the gateway has closed its connections'))
    else if (this.#all.size < this.#options.settings.limit) this.#connect(request, receiver)
    else this.#wait(request, receiver)
  }

  /** Takes a request back that waits for a connection, if it does. */
  takeBack(receiver: Receiver): void {
    const waiting = this.#waiting.get(receiver)
    if (waiting === undefined) return
    clearTimeout(waiting.timer)
    this.#waiting.delete(receiver)
  }

  #connect(request: UpstreamRequest, receiver: Receiver): void {
    const { connect, responseLimit, settings } = this.#options
    const connection = new Connection({
      connect,
      responseLimit,
      idleLimit: settings.idle,
      onFree: this.#onFree,
      onGone: this.#onGone,
      onUnsent: (again, itsReceiver) => this.dispatch(again, itsReceiver),
    })
    this.#all.set(connection, this.#period)
    connection.send(request, receiver)
  }

  #wait(request: UpstreamRequest, receiver: Receiver): void {
    const { queue, wait } = this.#options.settings
    if (this.#waiting.size >= queue) {
      receiver.onError(new TargetBusy('its queue is full'))
      return
    }
    const timer = setTimeout(() => {
      this.#waiting.delete(receiver)
      receiver.onError(new TargetBusy(`no connection became free in ${wait} ms`))
    }, wait)
    this.#waiting.set(receiver, { request, timer })
  }

  /** A second answer that came right behind the first must not be taken for that to the next request. */
  #onFree = (connection: Connection): void => {
    if (this.#released.push(connection) === 1) setImmediate(this.#admitReleased)
  }

  #admitReleased = (): void => {
    const released = this.#released
    this.#released = []
    for (const connection of released) {
      if (!connection.isFree) continue
      if (this.#aging !== null && this.#isOld(connection)) connection.close()
      else if (this.#waiting.size > 0) this.#serveNext((request, receiver) => connection.send(request, receiver))
      else this.#free.push(connection)
    }
  }

  #onGone = (connection: Connection): void => {
    this.#all.delete(connection)
    remove(this.#free, connection)
    remove(this.#released, connection)
    if (this.#waiting.size > 0 && !this.#isClosed)
      this.#serveNext((request, receiver) => this.#connect(request, receiver))
  }

  #serveNext(send: (request: UpstreamRequest, receiver: Receiver) => void): void {
    const [receiver, { request, timer }] = this.#waiting.entries().next().value as [Receiver, Waiting]
    clearTimeout(timer)
    this.#waiting.delete(receiver)
    send(request, receiver)
  }

  #isOld(connection: Connection): boolean {
    return this.#period - this.#all.get(connection)! >= 2
  }

  #growOlder(): void {
    this.#period++
    for (const connection of this.#free.filter(one => this.#isOld(one))) connection.close()
  }

  /** Ends what is under way and gives up the connections. */
  close(): void {
    this.#isClosed = true
    if (this.#aging !== null) clearInterval(this.#aging)
    for (const [receiver, { timer }] of this.#waiting) {
      clearTimeout(timer)
      receiver.onError(new TargetBusy('the gateway has closed its connections'))
    }
    this.#waiting.clear()
    for (const connection of [...this.#all.keys()]) connection.close()
  }
}

function remove(connections: Connection[], connection: Connection): void {
  const index = connections.indexOf(connection)
  if (index !== -1) connections.splice(index, 1)
}
