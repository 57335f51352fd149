import { execFileSync } from 'node:child_process'
import { constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A pipe of the system, as a shell makes it. Node itself connects its children by sockets. */
export interface NamedPipe {
  /** Non-blocking, as a gateway makes its standard output. */
  writer: number
  /** Reads nothing before it has a listener. */
  reader: Socket
}

export function openNamedPipe(t: Test): NamedPipe {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-pipe-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const end = (flags: number): number => openSync(path, flags | constants.O_NONBLOCK)
  const reader = new Socket({ fd: end(constants.O_RDONLY), readable: true, writable: false }).setEncoding('utf8')
  const writer = end(constants.O_WRONLY)
  t.teardown(() => {
    reader.destroy()
    rmSync(folder, { recursive: true })
  })
  return { writer, reader }
}
