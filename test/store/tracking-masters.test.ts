import { EventEmitter } from 'node:events'
import type { Cluster, Redis } from 'ioredis'
import t from 'tap'
import { Masters } from '../../src/store/redis/tracking/masters.ts'

/* The connections to the masters of a Cluster, at moments that real servers seldom have. */

/** A connection, or a client of a Cluster, that is in the state that a test sets. */
class Client extends EventEmitter {
  status = 'connecting'
  readonly masters: Client[]

  constructor(masters: Client[] = []) {
    super()
    this.masters = masters
  }

  nodes(): Client[] {
    return this.masters
  }

  async connect(): Promise<void> {
    this.enter('connecting')
  }

  disconnect(): void {
    this.status = 'end'
  }

  enter(status: string): void {
    this.status = status
    this.emit(status)
  }
}

function openMasters() {
  const masters = [new Client(), new Client()]
  const cluster = Object.assign(new Client(masters), { status: 'ready' })
  const lines: Client[] = []
  const tracked = new Masters({
    cluster: cluster as unknown as Cluster,
    openLine() {
      lines.push(new Client())
      return lines.at(-1) as unknown as Redis
    },
    prefixes: [],
    listener: { announced() {}, begun() {}, lost() {}, obstructed() {} },
  })
  return { tracked, cluster, masters, lines }
}

t.test('each master that is connected gets a connection of its own, which ends with the store', async t => {
  const { tracked, masters, lines } = openMasters()
  t.equal(lines.length, 0)
  for (const main of masters) main.enter('ready')
  t.same(
    lines.map(({ status }) => status),
    ['connecting', 'connecting'],
  )
  tracked.close()
  t.same(
    lines.map(({ status }) => status),
    ['end', 'end'],
  )
})

t.test('a master that is connected after the end gets none', async t => {
  const { tracked, cluster, masters, lines } = openMasters()
  tracked.close()
  for (const main of masters) main.enter('ready')
  cluster.emit('refresh')
  t.same(lines, [])
})

t.test('no master is connected before the client knows that the Cluster is up', async t => {
  const { cluster, masters } = openMasters()
  cluster.status = 'connecting'
  for (const main of masters) main.status = 'wait'
  cluster.emit('refresh')
  const states = () => masters.map(({ status }) => status)
  t.same(states(), ['wait', 'wait'], 'the client asks one of them for the state of the Cluster')
  cluster.enter('ready')
  t.same(states(), ['connecting', 'connecting'])
})
