import { resolve } from 'node:path'

/** The repository's folder. Tests run compiled, from `.compiled/test/`: see test/loader.cjs. */
export const ROOT = resolve(import.meta.dirname, '../../..')
