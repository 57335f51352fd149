import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { closeSync, openSync, readSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const WORKER = fileURLToPath(new URL('embedded-worker.js', import.meta.url))

/** Another process on the store's file, and the lines it has said. */
export interface Child {
  process: ChildProcess
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string | null>
  /** The whole lines said since the last call. Does not wait, and works without a turn of the event loop. */
  said(): string[]
  /** Waits for the next lines. None of a child that was killed before. */
  nextSaid(): Promise<string[]>
}

/** Starts `embedded-worker.ts`; its words go through a file, so that none is lost when it is killed. */
export function startWorker(task: string, folder: string, argument = '', shellPrefix = ''): Child {
  const path = `${folder}/said-${task}-${argument}-${counter++}`
  const written = openSync(path, 'w')
  const node = [process.execPath, WORKER, task, folder, argument]
  const options: SpawnOptions = { stdio: ['ignore', written, 'inherit'] }
  const child =
    shellPrefix === ''
      ? spawn(node[0] as string, node.slice(1), options)
      : spawn('/bin/sh', ['-c', `${shellPrefix} exec "$@"`, 'sh', ...node], options)
  closeSync(written)
  const said = lineReader(path)
  return {
    process: child,
    ended: new Promise(resolve => child.once('exit', (code, signal) => resolve(code ?? signal))),
    said,
    async nextSaid() {
      for (;;) {
        const lines = said()
        if (lines.length > 0) return lines
        if (child.signalCode !== null) return []
        if (child.exitCode !== null) throw new Error(`the ${task} worker ended without a word`)
        await new Promise(resolve => setTimeout(resolve, 2))
      }
    },
  }
}

let counter = 0

function lineReader(path: string): () => string[] {
  const fd = openSync(path, 'r')
  const buffer = Buffer.alloc(65_536)
  let rest = ''
  return () => {
    for (let length = readSync(fd, buffer); length > 0; length = readSync(fd, buffer)) {
      rest += buffer.toString('latin1', 0, length)
    }
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    return lines
  }
}
