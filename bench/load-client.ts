import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { ClientLoad, LoadResult } from './load.ts'
import { quantile } from './statistics.ts'

/*
 * A small load generator: raw sockets, requests prepared once, answers separated by their Content-Length. At a fixed rate the
 * latency of a request counts from the time it was due, so that a stall counts for every request that it delays.
 */
const asked = JSON.parse(process.argv[2]!) as ClientLoad
const { hostname, port } = new URL(asked.url)
const body = 'x'.repeat(asked.body)
const heads = readFileSync(asked.heads, 'latin1').split('\r\n\r\n').slice(0, -1)
const requests = heads.map(head => Buffer.from(`${head}\r\n\r\n${body}`))
const latencies: number[] = []
const idle: Line[] = []
const due: number[] = []
let sent = 0
let failed = 0
let over = false

/** One connection, with at most one request in progress. */
class Line {
  readonly #socket: Socket
  #since = 0
  #expected = 0
  #head = ''

  constructor() {
    this.#socket = connect(Number(port), hostname)
    this.#socket.setNoDelay(true)
    this.#socket.on('data', chunk => this.#onData(chunk))
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => {
      if (!over) failed++
    })
    this.#socket.once('connect', () => free(this))
  }

  send(since: number): void {
    this.#since = since
    this.#socket.write(requests[sent++ % requests.length]!)
  }

  #onData(chunk: Buffer): void {
    if (this.#expected === 0) {
      this.#head += chunk.toString('latin1')
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1] ?? 0)
      if (Number(this.#head.slice(9, 12)) >= 400) failed++
      this.#expected = length - (this.#head.length - end - 4)
      this.#head = ''
    } else {
      this.#expected -= chunk.length
    }
    if (this.#expected > 0) return
    this.#expected = 0
    latencies.push(performance.now() - this.#since)
    if (!over) free(this)
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** Sends the requests that are due; without a fixed rate, always one more. */
function free(line: Line): void {
  if (asked.rate === undefined) line.send(performance.now())
  else if (due.length > 0) line.send(due.shift()!)
  else idle.push(line)
}

function pace(rate: number, began: number): void {
  let planned = 0
  const step = (): void => {
    if (over) return
    const now = performance.now()
    while (began + (planned * 1000) / rate <= now) {
      const since = began + (planned++ * 1000) / rate
      const line = idle.pop()
      if (line === undefined) due.push(since)
      else line.send(since)
    }
    setTimeout(step, 1)
  }
  step()
}

const lines = Array.from({ length: asked.connections }, () => new Line())
const began = performance.now()
if (asked.rate !== undefined) pace(asked.rate, began)
setTimeout(() => {
  over = true
  const seconds = (performance.now() - began) / 1000
  for (const line of lines) line.close()
  const sorted = latencies.sort((a, b) => a - b)
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map(share => quantile(sorted, share)) as [number, number, number]
  const [answered, rate] = [sorted.length, sorted.length / seconds]
  const result: LoadResult = { answered, rate, p50, p90, p99, failed: failed + due.length }
  console.log(JSON.stringify(result))
}, asked.seconds * 1000)
