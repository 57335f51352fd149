import { join } from 'node:path'
import { Written } from '../notation/written.ts'
import type { Variables } from './environment.ts'

/** Stands for the name of a configuration file where there is no file: the gateway starts with what is built in. */
export const BUILT_IN = Symbol('built-in configuration')

/**
 * What `dualgate` starts with in a folder without a configuration: the defaults, with the accounts in the data folder, and
 * with an upstream that shows the requests it receives.
 */
export function readBuiltIn(variables: Variables, cwd: string): Written {
  const data = variables.get('DATA')?.text ?? 'data'
  const settings = {
    accounts: { path: join(data, 'accounts.yaml') },
    upstreams: [{ name: 'echo', match: '/api/v1', target: 'builtin:echo' }],
  }
  return new Written(settings, { label: 'built-in configuration', folder: cwd })
}
