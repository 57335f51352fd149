import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../support/until.ts'
import type { Mishap, Setup } from './setup.ts'

/** Room for the store's file and no more than a little else. */
const DISK = '64m'

/** A small disk of its own; `null` where this user may not have one. */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK}`, 'tmpfs', folder], { stdio: 'ignore' })
    return folder
  } catch {
    rmSync(folder, { recursive: true })
    return null
  }
}

function isUnmounted(disk: string): boolean {
  try {
    execFileSync('umount', [disk], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** The store of one machine: its disk fills up, and is given room again. */
export function embedded(): Setup {
  const disk = smallDisk()
  return {
    name:
      disk === null
        ? 'the embedded store (LEFT OUT: a full disk, which needs the right to mount one)'
        : 'the embedded store',
    store: { kind: 'embedded' },
    settings: disk === null ? {} : { data: join(disk, 'data') },
    mishaps: disk === null ? [] : [fullDisk(disk)],
    inspect: async () => [],
    async stop() {
      if (disk === null) return
      // The workers of a killed gateway end a moment after it.
      if (!(await until(() => isUnmounted(disk)))) throw new Error(`${disk} is still in use`)
      rmSync(disk, { recursive: true })
    },
  }
}

function fullDisk(disk: string): Mishap {
  const filler = join(disk, 'filler')
  return {
    name: 'the disk is full',
    loses: 'nothing',
    lasts: 2000,
    begin() {
      for (const size of [1 << 20, 1 << 16, 4096]) {
        try {
          for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' })
        } catch {
          // Full for pieces of this size.
        }
      }
    },
    end: () => rmSync(filler),
  }
}
