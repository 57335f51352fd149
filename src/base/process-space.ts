import { readFileSync, readlinkSync } from 'node:fs'

/**
 * Names this machine since it was booted, and the space of process ids in it: a container has one of its own, which shows no
 * process of another. Empty where the system does not tell.
 */
export function processSpace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return ''
  }
}
