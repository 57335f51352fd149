import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { OTHER_CORE, pinned, programNamed } from './machine.ts'

const run = promisify(execFile)

export interface Load {
  url: string
  /** Requested in turn instead of the path of `url`, one per request. */
  paths?: readonly string[]
  /** Sent in turn, one per request; without tokens, requests have no Authorization. */
  tokens: readonly string[]
  /** What stands before a token in its header field; `Authorization: Bearer ` when it is not given. */
  credential?: string | undefined
  connections: number
  seconds: number
  /** Further header fields of every request. */
  headers?: Readonly<Record<string, string>>
  /** Bytes of the body; 0: GET. */
  body?: number
  /** Requests per second, sent without waiting for answers; without it, each connection sends the next request after an answer. */
  rate?: number
}

/** The same for our own client; `heads` is a file. */
export interface ClientLoad extends Required<Pick<Load, 'url' | 'connections' | 'seconds' | 'body'>> {
  heads: string
  rate?: number
}

export interface LoadResult {
  answered: number
  /** Answers per second. */
  rate: number
  /** Latency in milliseconds. */
  p50: number
  p90: number
  p99: number
  /** Connections that failed, requests without an answer, statuses from 400 on. */
  failed: number
}

export const BEARER = 'Authorization: Bearer '

const wrk = programNamed('wrk')

/** Puts a load on a gateway from the other core: with wrk, or with our own client if wrk is missing or unsuitable. */
export async function load(folder: string, asked: Load): Promise<LoadResult> {
  const heads = join(folder, 'heads')
  writeFileSync(heads, headsOf(asked).join(''))
  const command = wrk === null || asked.rate !== undefined ? own(asked, heads) : byWrk(wrk, asked, heads)
  const [program, ...words] = pinned(OTHER_CORE, command)
  const { stdout } = await run(program!, words, { cwd: import.meta.dirname, maxBuffer: 2 ** 20 })
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as LoadResult
}

/** The heads of the requests that are sent in turn, each with its empty line. */
function headsOf({ url, paths = [], tokens, credential = BEARER, headers = {}, body = 0 }: Load): string[] {
  const { host, pathname } = new URL(url)
  const further = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  if (body > 0) further.push('Content-Type: application/octet-stream', `Content-Length: ${body}`)
  return Array.from({ length: Math.max(1, tokens.length, paths.length) }, (_, i) => {
    const path = paths.length === 0 ? pathname : paths[i % paths.length]
    const authorization = tokens.length === 0 ? [] : [credential + tokens[i % tokens.length]]
    const lines = [`${body > 0 ? 'POST' : 'GET'} ${path} HTTP/1.1`, `Host: ${host}`, ...authorization, ...further]
    return `${lines.join('\r\n')}\r\n\r\n`
  })
}

function byWrk(program: string, { url, connections, seconds, body = 0 }: Load, heads: string): string[] {
  const volume = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s']
  return [program, ...volume, '-s', join(import.meta.dirname, 'wrk.lua'), url, '--', heads, String(body)]
}

const own = ({ url, connections, seconds, body = 0, rate }: Load, heads: string): string[] => {
  const asked: ClientLoad = { url, heads, connections, seconds, body, ...(rate !== undefined && { rate }) }
  return [process.execPath, '--import', 'tsx', join(import.meta.dirname, 'load-client.ts'), JSON.stringify(asked)]
}
