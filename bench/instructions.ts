import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type BenchGateway, type GatewayOptions, logIn, startGateway } from './gateway.ts'
import { GATEWAY_CORE, OTHER_CORE, programNamed } from './machine.ts'
import { onScene, type Scene } from './process.ts'
import { storeOptions } from './profile.ts'
import { note, printTable, spreadOf, whole } from './statistics.ts'
import { pathOf, startUpstream } from './upstream.ts'

const run = promisify(execFile)

/** Users, or programs, whose requests are counted. */
const CLIENTS = 1000
const CONNECTIONS = 64

/** How Valgrind numbers a program's first thread. */
const EVENT_LOOP = '01'
/** Nothing is counted at first. V8 compiles into memory that held other code before. */
const COUNTING = ['--tool=callgrind', '--instr-atstart=no', '--separate-threads=yes', '--smc-check=all-non-file']

export const INSTRUCTIONS_HELP = `instructions  how many instructions a request takes on the thread of the event loop, outside of the kernel, counted by Valgrind
            --store embedded|redis|tracking|keys
            --windows 8 --requests 4000    how often is counted, and over how many requests
            --warm-up 30000                requests before, until V8 has compiled what is used
            --beside FOLDER                a second checkout with its dist/, counted at the same time`

interface Extent {
  windows: number
  requests: number
  warmUp: number
}

export async function instructions(words: string[]): Promise<void> {
  const { values } = parseArgs({
    args: words,
    options: {
      store: { type: 'string', default: 'embedded' },
      windows: { type: 'string', default: '8' },
      requests: { type: 'string', default: '4000' },
      'warm-up': { type: 'string', default: '30000' },
      beside: { type: 'string' },
    },
  })
  const { store, beside } = values
  const extent = {
    windows: Number(values.windows),
    requests: Number(values.requests),
    warmUp: Number(values['warm-up']),
  }
  if (programNamed('callgrind_control') === null) throw new Error('install valgrind, which counts')
  await onScene(async scene => {
    const upstream = await startUpstream(scene, false)
    const shared = { upstream, store, extent }
    const counted = [scene.part(part => count(part, 'this', { ...shared, core: GATEWAY_CORE }))]
    if (beside !== undefined) {
      const other = resolve(beside)
      const main = join(other, 'dist/main.js')
      counted.push(scene.part(part => count(part, basename(other), { ...shared, core: OTHER_CORE, main })))
    }
    const rows = await Promise.all(counted)
    console.log(`${store}: instructions of a request; collections of garbage make windows differ:\n`)
    printTable(['version', 'least window', 'median', 'most'], rows)
  })
}

interface Counted extends Pick<GatewayOptions, 'main' | 'core'> {
  upstream: string
  store: string
  extent: Extent
}

/** Counts on a gateway and a store of its own; answers a row of the table. */
async function count(scene: Scene, name: string, { store, extent, ...rest }: Counted): Promise<string[]> {
  const { windows, requests, warmUp } = extent
  const { keys, ...options } = await storeOptions(scene, store)
  const counts = join(scene.folder, 'instructions')
  const under = [programNamed('valgrind')!, ...COUNTING, `--callgrind-out-file=${counts}`]
  const gateway = await startGateway(scene, 'gateway', { ...options, ...rest, under })
  const tokens = keys ?? (await logIn(gateway, CLIENTS))
  await send(gateway, tokens, warmUp)
  const pid = String(gateway.pid)
  await run('callgrind_control', ['--instr=on', pid])
  // What is counted first includes the start of counting.
  const figures: number[] = []
  for (let window = 0; window <= windows; window++) {
    await send(gateway, tokens, requests)
    await run('callgrind_control', ['--dump', pid])
    const figure = totalOf(`${counts}.${window + 1}-${EVENT_LOOP}`) / requests
    note(`${name}: ${window === 0 ? 'not counted' : whole(figure)}`)
    if (window > 0) figures.push(figure)
  }
  const { least, median, most } = spreadOf(figures)
  return [name, whole(least), whole(median), whole(most)]
}

/** The instructions of a dump, which begins where the one before ended; V8 compiles and collects on other threads, too. */
const totalOf = (dump: string): number => Number(/^totals: (\d+)/m.exec(readFileSync(dump, 'latin1'))![1])

/** Sends so many requests, each after the answer of the one before on its connection. */
async function send({ url }: BenchGateway, tokens: readonly string[], requests: number): Promise<void> {
  let left = requests
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const headers = { authorization: `Bearer ${tokens[left % tokens.length]}` }
      const answer = await fetch(url + pathOf('/api/v1/c', 0.1), { headers })
      await answer.text()
      if (!answer.ok) throw new Error(`the gateway answered ${answer.status}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
}
