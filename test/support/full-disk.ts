import { execFileSync, spawnSync } from 'node:child_process'

// The kernel sends it with the fault, and it would end the process.
process.on('SIGXFSZ', () => undefined)

/** For `skip`: a machine without the program says what it leaves out. */
export const withoutFullDisk =
  spawnSync('prlimit', ['--version']).error === undefined ? false : 'LEFT OUT: no prlimit on PATH (in util-linux)'

/** The largest file that this process may write, in bytes: to a writer beyond it, the disk is full. */
export const limitFiles = (bytes: number | 'unlimited'): void =>
  void execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`])
