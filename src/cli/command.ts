import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ParseArgsConfig } from 'node:util'
import { BUILT_IN, type ConfigurationFile } from '../settings/load.ts'
import { DEFAULT_CONFIG } from './default-file.ts'
import type { Terminal } from './terminal.ts'

/** The arguments of a command: its options by name, and its words. */
export interface Written {
  values: Record<string, string | boolean | (string | boolean)[] | undefined>
  words: string[]
}

export interface Command {
  /** The words that it accepts, as shown in the first line of its help. */
  words: string
  summary: string
  /** The text of `--help` below the usage line. */
  help: string
  options: NonNullable<ParseArgsConfig['options']>
  /** Returns the exit code. */
  run(written: Written, terminal: Terminal): Promise<number>
}

export const CONFIG_OPTION = { config: { type: 'string' } } as const
export const CONFIG_HELP = `  --config FILE       the configuration file; ${DEFAULT_CONFIG} when not given`

/** The configuration file to use. */
export function configOf({ values }: Written): string {
  return typeof values.config === 'string' ? values.config : DEFAULT_CONFIG
}

/** The configuration of the gateway that `dualgate` alone starts here: built in, if no file is named or stands in its place. */
export function configOrBuiltIn(written: Written, cwd: string): ConfigurationFile {
  const file = configOf(written)
  return written.values.config === undefined && !existsSync(resolve(cwd, file)) ? BUILT_IN : file
}
