import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { BESIDE, folderWith } from '../settings/folder.ts'
import { run } from '../support/command-line.ts'

/** No check waits longer, whatever its settings say. */
export const LONGEST = '5s'

/** The lines about connections of `dualgate check --connect`, and its exit code. */
export async function connect(t: Test, config: Record<string, unknown>) {
  const folder = folderWith(t, { ...BESIDE, 'gateway.yaml': stringify(config) })
  const { code, output, errors } = await run(folder, ['check', '--connect', '--config', 'gateway.yaml'])
  t.notOk(existsSync(join(folder, 'data')), 'nothing is created')
  const lines = output.split('\n').filter(line => /^ {2}(reached|NOT REACHED) /.test(line))
  return { code, output: output + errors, lines: lines.map(line => line.trim().replace(/ {2,}/, ' ')) }
}
