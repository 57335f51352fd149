import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { OTHER_CORE, pinned, programNamed } from './machine.ts'

const run = promisify(execFile)

export interface Load {
  url: string
  /** Sent in turn, one per request; without tokens, requests have no Authorization. */
  tokens: readonly string[]
  connections: number
  seconds: number
  /** Bytes of the body; 0: GET. */
  body?: number
  /** Requests per second, sent without waiting for answers; without it, each connection sends the next request after an answer. */
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

const wrk = programNamed('wrk')

/** Puts a load on a gateway from the other core: with wrk, or with our own client if wrk is missing or unsuitable. */
export async function load(folder: string, asked: Load): Promise<LoadResult> {
  const tokens = join(folder, 'tokens')
  writeFileSync(tokens, `${asked.tokens.length === 0 ? '-' : asked.tokens.join('\n')}\n`)
  const command = wrk === null || asked.rate !== undefined ? own(asked, tokens) : byWrk(wrk, asked, tokens)
  const [program, ...words] = pinned(OTHER_CORE, command)
  const { stdout } = await run(program!, words, { cwd: import.meta.dirname, maxBuffer: 2 ** 20 })
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as LoadResult
}

function byWrk(program: string, { url, connections, seconds, body = 0 }: Load, tokens: string): string[] {
  const volume = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s']
  return [program, ...volume, '-s', join(import.meta.dirname, 'wrk.lua'), url, '--', tokens, String(body)]
}

const own = (asked: Load, tokens: string): string[] => [
  process.execPath,
  '--import',
  'tsx',
  join(import.meta.dirname, 'load-client.ts'),
  JSON.stringify({ ...asked, tokens }),
]
