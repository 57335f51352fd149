import { spawnSync } from 'node:child_process'
import { pathOf } from './installed.ts'

const PROMTOOL = pathOf('promtool')

export const withoutPromtool =
  PROMTOOL === undefined ? 'LEFT OUT: no promtool on PATH (in Debian’s package prometheus)' : false

/** What promtool says of files or of its input, in both of its outputs. */
export function runPromtool(words: string[], input = ''): { code: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync(PROMTOOL!, words, { input, encoding: 'utf8' })
  return { code: status, said: stdout + stderr }
}
