import { statSync } from 'node:fs'

/** A text that changes whenever a file is written, replaced or removed, or other users may read it. */
export function fileState(file: string): string {
  try {
    const { ino, size, mtimeNs, mode, uid, gid } = statSync(file, { bigint: true })
    return [ino, size, mtimeNs, mode, uid, gid].join(' ')
  } catch (fault) {
    // Whatever stands in the way of a file is a state of it: a folder that was closed must not end the gateway.
    return codeOf(fault)
  }
}

/** The code of a fault of the operating system. */
export const codeOf = (fault: unknown): string => (fault as NodeJS.ErrnoException).code ?? 'unknown fault'
