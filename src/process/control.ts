import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { connect, Server, type Socket } from 'node:net'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Logger } from '../base/log/log.ts'
import { isAnswered, listenPrivately } from '../http/server/private-socket.ts'

/** The result of a command to a running gateway: the fault to report, or what was done. */
export type Outcome =
  | { fault: string }
  | {
      fault: null
      /** The configuration file that was read; `null` without one. */
      file: string | null
      /** How many new workers answer. */
      workers: number
      notes: readonly string[]
    }

/** The Unix socket in the data folder; commands reach the gateway with this data folder through it. */
const FILE = 'control.sock'
/** Longest path of a Unix socket in bytes: the smallest limit of all supported systems (macOS). */
const MAX_PATH_BYTES = 103
/** A command is one word. */
const MAX_COMMAND_BYTES = 64

/** Why a command does not reach a gateway, or gets no answer, with the remedy. */
export class ControlError extends Error {}

export interface Control {
  close(): void
}

/** Listens for commands. If this fails, the gateway obeys only signals, and logs a warning. */
export async function openControl(folder: string, reload: () => Promise<Outcome>, log: Logger): Promise<Control> {
  const server = new Server({ allowHalfOpen: true }, socket => void answer(socket, reload))
  try {
    const path = pathIn(folder)
    if (path === null) throw tooLong(folder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    if (await isAnswered(path)) throw new Error('another gateway runs with this data folder and receives the commands')
    rmSync(path, { force: true })
    await listenPrivately(server, path)
    server.unref()
  } catch (err) {
    log.warn({ err }, '`dualgate reload` cannot reach this gateway; use SIGHUP')
  }
  return { close: () => void server.close() }
}

/** Whether a gateway runs with a data folder, and receives commands. */
export async function isRunning(folder: string): Promise<boolean> {
  const path = pathIn(folder)
  return path !== null && isAnswered(path)
}

/** Sends a reload to the gateway that runs with a data folder; returns `null` if none runs. Throws `ControlError`. */
export async function askReload(folder: string): Promise<Outcome | null> {
  const path = pathIn(folder)
  if (path === null) throw tooLong(folder)
  const socket = connect(path)
  try {
    await once(socket, 'connect')
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return null
    throw fault
  }
  socket.end('reload')
  try {
    return JSON.parse(await text(socket)) as Outcome
  } catch (cause) {
    throw new ControlError('the gateway ended before it answered; its log says why', { cause })
  }
}

async function answer(socket: Socket, reload: () => Promise<Outcome>): Promise<void> {
  socket.on('error', () => socket.destroy())
  // A client that says nothing does not keep the process from ending.
  socket.unref()
  let command = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    command += chunk
    if (command.length > MAX_COMMAND_BYTES) break
  }
  const outcome = command === 'reload' ? await reload() : { fault: 'unknown command' }
  socket.end(JSON.stringify(outcome))
}

/** The shorter form of the path, relative or absolute, because its length is limited; `null` if it is too long. */
function pathIn(folder: string): string | null {
  const path = resolve(folder, FILE)
  const fromHere = join(relative(process.cwd(), folder), FILE)
  const shorter = fromHere.length < path.length ? fromHere : path
  return Buffer.byteLength(shorter) > MAX_PATH_BYTES ? null : shorter
}

const tooLong = (folder: string): ControlError =>
  new ControlError(
    `the path ${resolve(folder, FILE)} is too long for a socket; send SIGHUP to the gateway, or give it a data folder with a shorter path`,
  )
