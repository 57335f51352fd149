import type { Cluster, Redis } from 'ioredis'
import type { KeyReads } from '../commands/redis-commands.ts'
import { summaryOf } from '../connection/fault.ts'
import { answerOf } from '../connection/silence.ts'
import { type AnnouncementListener, type Announcements, Announcer } from './announcer.ts'
import { type OwnView, ownViewOf, SLOTS, slotOf } from './slots.ts'

/*
 * In a Cluster each master announces the keys of its own slots. A PONG does not suffice there: a master whose replica took
 * over, because the majority had lost it, still answers PING. So every proof also asks each master which slots it owns. Where
 * any answer differs from the one before, a slot may have been changed by another master meanwhile, and everything is lost.
 */

const MOVING = 'slots of the Cluster move or have no master'

export interface MastersOptions {
  cluster: Cluster
  /** Opens a further connection to where another one is connected. */
  openLine(main: Redis): Redis
  prefixes: readonly string[]
  listener: AnnouncementListener
}

/** The announcements of all masters of a Cluster: complete only while every slot has a master that announces. */
export class Masters implements Announcements, KeyReads {
  readonly #options: MastersOptions
  readonly #listener: AnnouncementListener
  /** By the connection on which the store asks the master. */
  readonly #announcers = new Map<Redis, Announcer>()
  readonly #awaited = new WeakSet<Redis>()
  /** What each master said of itself in the last proof; `null` before the first one after a loss. */
  #views: ReadonlyMap<Redis, OwnView> | null = null
  /** The owner of each slot by these views. */
  #owners: readonly Redis[] = []
  #isClosed = false

  constructor(options: MastersOptions) {
    this.#options = options
    this.#listener = options.listener
    options.cluster.on('refresh', this.#follow).on('ready', this.#follow)
    if (options.cluster.status === 'ready') this.#follow()
  }

  get isTracked(): boolean {
    const masters = this.#options.cluster.nodes('master')
    return masters.length > 0 && masters.every(main => this.#announcers.get(main)?.isTracked === true)
  }

  /** The masters as the client knows them, each second and after each refusal by a node. */
  readonly #follow = (): void => {
    // A master that was awaited may be connected after the end.
    if (this.#isClosed) return
    const masters = new Set(this.#options.cluster.nodes('master'))
    for (const [main, announcer] of this.#announcers) {
      if (masters.has(main)) continue
      this.#announcers.delete(main)
      announcer.close()
    }
    for (const main of masters) {
      if (this.#announcers.has(main)) continue
      this.#lose('the masters of the Cluster change')
      if (main.status === 'ready') this.#add(main)
      else this.#await(main)
    }
  }

  #await(main: Redis): void {
    // The client connects to a node when the first command is for it. Until the client itself is ready, that is its own question
    // for the state of the Cluster: it asks no node that is being connected, and gives up the whole Cluster instead, again and again.
    if (main.status === 'wait' && this.#options.cluster.status === 'ready') main.connect().catch(() => undefined)
    if (!this.#awaited.has(main)) main.once('ready', this.#follow)
    this.#awaited.add(main)
  }

  #add(main: Redis): void {
    const { openLine, prefixes } = this.#options
    const listener = {
      announced: (keys: readonly Buffer[] | null) => this.#listener.announced(keys),
      begun: () => {
        if (this.isTracked) this.#listener.begun()
      },
      lost: (why: string) => this.#lose(why),
      obstructed: (why: string) => this.#listener.obstructed(why),
    }
    this.#announcers.set(main, new Announcer({ main, line: openLine(main), prefixes, listener }))
  }

  #lose(why: string): void {
    this.#views = null
    this.#owners = []
    this.#listener.lost(why)
  }

  async prove(): Promise<boolean> {
    const before = this.#views
    const asked = [...this.#announcers]
    const views = new Map<Redis, OwnView>()
    await Promise.all(
      asked.map(async ([main, announcer]) => {
        const [view, isKnown] = await Promise.all([this.#viewOf(main), announcer.prove()])
        if (isKnown && view !== null) views.set(main, view)
      }),
    )
    // Lost meanwhile, or proven by a question that was sent later.
    if (this.#views !== before || !this.isTracked) return false
    if (before !== null) return this.#isSame(before, views)
    return this.#begin(asked.length, views)
  }

  async #viewOf(main: Redis): Promise<OwnView | null> {
    try {
      const [nodes, info] = await Promise.all([
        answerOf(main, main.cluster('NODES')),
        answerOf(main, main.cluster('INFO')),
      ])
      return ownViewOf(String(nodes), String(info))
    } catch (error) {
      if ((error as Error).name === 'ReplyError')
        this.#listener.obstructed(`Redis refuses CLUSTER NODES or CLUSTER INFO (${summaryOf(error)})`)
      throw error
    }
  }

  #isSame(before: ReadonlyMap<Redis, OwnView>, views: ReadonlyMap<Redis, OwnView>): boolean {
    const isSame =
      before.size === views.size && [...before].every(([main, { identity }]) => views.get(main)?.identity === identity)
    if (!isSame) this.#lose(MOVING)
    return isSame
  }

  /** Nothing is remembered yet: the owners are those that the masters name now. */
  #begin(asked: number, views: ReadonlyMap<Redis, OwnView>): boolean {
    const owners = ownersIn(views)
    if (views.size < asked || owners === null) {
      this.#listener.obstructed(MOVING)
      return false
    }
    this.#views = views
    this.#owners = owners
    return true
  }

  get(key: string): Promise<string | null> {
    return this.#read(key, server => server.get(key))
  }

  pttl(key: string): Promise<number> {
    return this.#read(key, server => server.pttl(key))
  }

  /**
   * Asks the master whose announcements are received, and no other: the client would follow the refusal of a node to any
   * other one. Where the owner refuses, the slot has moved: its answer counts for this request, but is not remembered.
   */
  async #read<T>(key: string, command: (server: Redis | Cluster) => Promise<T>): Promise<T> {
    const owner = this.#owners[slotOf(key)]
    if (owner === undefined) return command(this.#options.cluster)
    try {
      return await command(owner)
    } catch (error) {
      if (!/^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN) /.test((error as Error).message)) throw error
      this.#lose(MOVING)
      return command(this.#options.cluster)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#options.cluster.off('refresh', this.#follow).off('ready', this.#follow)
    for (const [main, announcer] of this.#announcers) {
      this.#announcers.delete(main)
      announcer.close()
    }
  }
}

/** The owner of every slot; `null` while one has none. */
function ownersIn(views: ReadonlyMap<Redis, OwnView>): Redis[] | null {
  const owners = new Array<Redis>(SLOTS)
  let covered = 0
  for (const [main, { ranges }] of views) {
    for (const [first, last] of ranges) {
      for (let slot = first; slot <= last; slot++) {
        if (owners[slot] === undefined) covered++
        owners[slot] = main
      }
    }
  }
  return covered === SLOTS ? owners : null
}
