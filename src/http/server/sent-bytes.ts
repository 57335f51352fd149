import type { Socket } from 'node:net'

const COUNTED = Symbol('bytes of the answers before')

/** The bytes that were sent to a client since the last question: those of one answer, because answers do not overlap. */
export function sentBytes(socket: Pick<Socket, 'bytesWritten'> | undefined): number | undefined {
  if (socket === undefined) return undefined
  const counted = socket as { bytesWritten: number; [COUNTED]?: number }
  const before = counted[COUNTED] ?? 0
  const all = counted.bytesWritten
  counted[COUNTED] = all
  return all - before
}
