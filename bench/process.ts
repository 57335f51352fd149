import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening } from '../test/support/ports.ts'
import { pinned } from './machine.ts'

/** Longest wait for a process to accept connections or to exit, in milliseconds. */
const START_LIMIT = 120_000
const END_LIMIT = 30_000

export interface Started {
  name: string
  /** Of the process itself: taskset replaces itself with what it starts. */
  pid: number
  child: ChildProcess
  /** Milliseconds until it accepted connections. */
  readyAfter: number
  end(): Promise<void>
}

export interface StartOptions {
  /** `null`: it may use all of them. */
  core: number | null
  command: readonly string[]
  /** Where its output goes. */
  folder: string
  environment?: Record<string, string>
  cwd?: string
  /** It has started when this port accepts connections. */
  port: number
}

/** Starts a process on a core, its output in a file, and waits until it accepts connections. */
export async function start(name: string, options: StartOptions): Promise<Started> {
  const { core, command, folder, environment, cwd = folder, port } = options
  const log = join(folder, `${name}.log`)
  const output = openSync(log, 'a')
  const [program, ...words] = pinned(core, command)
  const child = spawn(program!, words, {
    cwd,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', output, output],
  })
  const began = performance.now()
  const until = began + START_LIMIT
  while (!(await isListening(port))) {
    if (child.exitCode !== null || performance.now() > until) {
      child.kill('SIGKILL')
      throw new Error(`${name} did not start:\n${readFileSync(log, 'utf8').slice(-2000)}`)
    }
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  return { name, pid: child.pid!, child, readyAfter: performance.now() - began, end: () => end(child) }
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  const limit = setTimeout(() => child.kill('SIGKILL'), END_LIMIT)
  await exit
  clearTimeout(limit)
}

/** Resident memory of a process and all its children in bytes, as Linux reports it. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const own = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1024
  return childrenOf(pid).reduce((sum, child) => sum + residentBytes(child), own)
}

/** The private anonymous part of that memory in bytes, without mapped files such as a store. */
export function anonymousBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const own = Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) * 1024
  return childrenOf(pid).reduce((sum, child) => sum + anonymousBytes(child), own)
}

/** Open descriptors of a process and all its children. */
export const descriptors = (pid: number): number =>
  childrenOf(pid).reduce((sum, child) => sum + descriptors(child), readdirSync(`/proc/${pid}/fd`).length)

/** The processes that a process has started. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? [] : children.split(' ').map(Number)
}

/** What a run starts and creates. All of it is removed when the run ends, also after a failure. */
export class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'dualgate-bench-'))
  readonly #endings: (() => Promise<void> | void)[] = []

  /** Registers something to end after the run, in reverse order. */
  keep<T extends { end(): Promise<void> | void }>(thing: T): T {
    this.#endings.push(() => thing.end())
    return thing
  }

  /** A part of the run: what it starts ends with it, or with the run. */
  async part<T>(run: (scene: Scene) => Promise<T>): Promise<T> {
    const scene = this.keep(new Scene())
    try {
      return await run(scene)
    } finally {
      await scene.end()
    }
  }

  async end(): Promise<void> {
    for (const ending of this.#endings.splice(0).reverse()) await ending()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Runs work with a scene and removes the scene afterwards, also after an interrupt. */
export async function onScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const scene = new Scene()
  // Nothing has to be ended in order any more, and an open session file would block an orderly exit.
  const interrupted = (): void => void scene.end().finally(() => process.kill(process.pid, 'SIGKILL'))
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    await run(scene)
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    await scene.end()
  }
}
