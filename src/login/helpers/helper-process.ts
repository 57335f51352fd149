import { type ChildProcess, fork } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { platform } from 'node:os'
import { delimiter, join } from 'node:path'
import type { WorkName, WorkResult, WorkTask } from './helper-work.ts'
import type { Answer, Task } from './message.ts'

/**
 * V8 compiles and collects garbage in the thread of the program. A further thread that wakes up may keep a core from an event loop
 * until the next tick of the kernel, though its priority is the lowest: with them the gateway waited 54 to 59 ms for a core in four
 * seconds, and without them 32 to 34 (16 logins at a time, two cores).
 */
const ALONE = '--single-threaded'
/**
 * A picture is garbage as soon as it is sent, and its native memory is freed when V8 collects it. After 2400 pictures a helper keeps
 * 90 MB on Node 20, 105 on Node 24 and 108 on Node 26; with the sizes that V8 chooses, 108, 213 and 147. Processor time was the same
 * within the noise.
 */
const SMALL = '--max-semi-space-size=4'
const FLAGS = [ALONE, SMALL]

const PROGRAM = new URL('./main.js', import.meta.url)

/** How a helper competes with other processes for the processor. */
export interface Priority {
  /** From 0 to 19, the lowest. */
  niceness: number
  /**
   * Linux only, and only if the program `chrt` is installed: the helper runs when no other thread wants the core, and
   * leaves it at once. Processes of every other priority keep a core for some milliseconds after another one wants it.
   */
  idle: boolean
}

interface Pending {
  message: Task
  resolve(result: unknown): void
  reject(fault: Error): void
}

/**
 * A process that computes for this one. It is a process and not a thread, because it may be interrupted anywhere: the
 * event loop would have to wait for a lock that a thread of lower priority holds. The first task starts it, and it ends
 * after some time without tasks.
 */
export class Helper {
  readonly #priority: Priority
  readonly #idleTimeout: number
  readonly #pending = new Map<number, Pending>()
  readonly #cpu = new Map<WorkName, number>()
  #child: ChildProcess | null = null
  #chrt: string | null
  #answered = false
  #lastId = 0
  #timer: NodeJS.Timeout | undefined

  /** `idleTimeout`: milliseconds without tasks after which the process ends. */
  constructor(priority: Priority, idleTimeout: number) {
    this.#priority = priority
    this.#idleTimeout = idleTimeout
    this.#chrt = priority.idle && platform() === 'linux' ? programNamed('chrt') : null
  }

  get isBusy(): boolean {
    return this.#pending.size > 0
  }

  /** The process while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** Processor time of the last task of a kind in milliseconds; 0 before the first. */
  cpuOf(name: WorkName): number {
    return this.#cpu.get(name) ?? 0
  }

  /** Does a task after those that it was given before. Rejects if the task or the process fails. */
  async run<K extends WorkName>(name: K, task: WorkTask<K>): Promise<WorkResult<K>> {
    clearTimeout(this.#timer)
    const child = this.#child ?? this.#start()
    const message: Task = { id: ++this.#lastId, name, task }
    hold(child)
    try {
      return await new Promise<WorkResult<K>>((resolve, reject) => {
        this.#pending.set(message.id, {
          message,
          resolve: result => resolve(result as WorkResult<K>),
          reject,
        })
        this.#send(child, message)
      })
    } finally {
      if (!this.isBusy) this.#rest()
    }
  }

  /** Ends the process. Tasks in progress are rejected. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    const child = this.#child
    if (child === null) return
    const ended = new Promise(resolve => child.once('close', resolve))
    hold(child)
    this.#abandon(new Error('the login helpers are closed'))
    child.kill('SIGKILL')
    await ended
  }

  #start(): ChildProcess {
    const { niceness } = this.#priority
    const command =
      this.#chrt === null
        ? { execArgv: FLAGS }
        : { execPath: this.#chrt, execArgv: ['-i', '0', process.execPath, ...FLAGS] }
    // Not the gateway's environment: it contains secrets. Some builds of Node find their libraries by this variable.
    const env = { LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }
    const child = fork(PROGRAM, [String(niceness)], { ...command, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child.on('message', answer => this.#onAnswer(answer as Answer))
    child.on('error', fault => this.#onEnd(child, fault))
    child.on('exit', (code, signal) => this.#onEnd(child, new Error(`a login helper ended with ${signal ?? code}`)))
    this.#child = child
    this.#answered = false
    return child
  }

  #send(child: ChildProcess, message: Task): void {
    // If the channel is closed, `exit` follows.
    child.send(message, () => undefined)
  }

  #onAnswer({ id, result, fault, cpu }: Answer): void {
    this.#answered = true
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    this.#cpu.set(pending.message.name as WorkName, cpu)
    if (fault === undefined) pending.resolve(result)
    else pending.reject(new Error(fault))
  }

  #onEnd(child: ChildProcess, fault: Error): void {
    if (child !== this.#child) return
    if (this.#chrt !== null && !this.#answered) {
      // Not every system allows the policy, and not every `chrt` knows it. Niceness alone is next best.
      this.#chrt = null
      this.#child = null
      const next = this.#start()
      for (const { message } of this.#pending.values()) this.#send(next, message)
    } else this.#abandon(fault)
  }

  /** The next task starts a new process. */
  #abandon(fault: Error): void {
    this.#child = null
    for (const { reject } of this.#pending.values()) reject(fault)
    this.#pending.clear()
  }

  #rest(): void {
    this.#child?.unref()
    this.#child?.channel?.unref()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.close(), this.#idleTimeout).unref()
  }
}

/** A process that has nothing else to do waits for its helper's answer, but not for an idle helper. */
function hold(child: ChildProcess): void {
  child.ref()
  child.channel?.ref()
}

/** The full path of an installed program, or `null`. */
function programNamed(name: string): string | null {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      const path = join(folder, name)
      accessSync(path, constants.X_OK)
      return path
    } catch {
      // Not in this folder.
    }
  }
  return null
}
