import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { LoadResult } from './load.ts'
import { note, whole } from './statistics.ts'
import { pathOf } from './upstream.ts'

const MIB = 2 ** 20
/** Connections that are opened at the same time. */
const TOGETHER = 200
/** MiB that are sent in a row before the processor time is read. */
const IN_A_ROW = 64

/** Opens connections that send one request and stay open. */
export async function holdConnections(url: string, token: string, count: number): Promise<Socket[]> {
  note(`opening ${whole(count)} connections`)
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(TOGETHER, count - sockets.length) }, () => askOnce(url, token))
    sockets.push(...(await Promise.all(some)))
  }
  return sockets
}

function askOnce(url: string, token: string): Promise<Socket> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname).once('error', reject)
    socket.once('data', () => resolve(socket.resume()))
    socket.write(`GET ${pathOf('/api/v1/c', 0.1)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  })
}

function* chunks(mib: number): Iterable<Buffer> {
  const chunk = Buffer.alloc(65_536, 'x')
  for (let sent = 0; sent < mib * MIB; sent += chunk.length) yield chunk
}

export async function upload(url: string, token: string, mib: number): Promise<void> {
  const asked = request(url + pathOf('/api/v1/c', 0.1), {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-length': mib * MIB },
  })
  const answered = new Promise<void>((resolve, reject) => {
    asked.once('response', response => void response.resume().once('end', resolve)).once('error', reject)
  })
  await pipeline(Readable.from(chunks(mib)), asked)
  await answered
}

export function download(url: string, token: string, mib: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = request(`${url}/api/v1/c/stream/${mib}`, { headers }, response => {
      let received = 0
      response.on('data', (chunk: Buffer) => {
        received += chunk.length
      })
      response.once('end', () => (received === mib * MIB ? resolve() : reject(new Error(`${received} bytes came`))))
    })
    asked.once('error', reject).end()
  })
}

/** Sends some large bodies one after another, each completely: a round of a fixed time would cut them off. */
export async function passBodies(way: 'up' | 'down', url: string, token: string, mib: number): Promise<LoadResult> {
  const count = Math.max(1, Math.round(IN_A_ROW / mib))
  const began = performance.now()
  for (let i = 0; i < count; i++) await (way === 'up' ? upload : download)(url, token, mib)
  const elapsed = performance.now() - began
  const each = elapsed / count
  return { answered: count, rate: (count * 1000) / elapsed, p50: each, p90: each, p99: each, failed: 0 }
}
