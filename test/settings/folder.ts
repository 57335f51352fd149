import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ConfigurationError, loadSettings } from '../../src/settings/load.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'

/** A working directory with these files, gone after the test. */
export function folderWith(t: Test, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-config-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

export const BESIDE = { 'upstreams.yaml': 'upstreams: []\n', 'permissions.yaml': 'roles: {}\n' }

/** The settings of a `gateway.yaml` beside which nothing else says anything, unless `files` do. */
export function settingsOf(
  t: Test,
  yaml: string,
  environment: Record<string, string> = {},
  files: Record<string, string> = {},
): Settings {
  const folder = folderWith(t, { ...BESIDE, ...files, 'gateway.yaml': yaml })
  return loadSettings('gateway.yaml', environment, folder)
}

/** The faults of it, one text each: place, colon, message. */
export function faultsOf(...written: Parameters<typeof settingsOf>): string[] {
  try {
    settingsOf(...written)
    return []
  } catch (fault) {
    if (!(fault instanceof ConfigurationError)) throw fault
    return fault.faults.map(({ place, message }) => `${place}: ${message}`)
  }
}

export const GOOD_KEY = 'q7Xw2Zr9Lk4Tn8Vb3Hd6Jf1Gs5Pm0Yc-Ea'

/** The environment of a sound production. */
export const PRODUCTION = {
  NODE_ENV: 'production',
  JWT__SECRET_KEY: GOOD_KEY,
  INTERNAL__SECRET: GOOD_KEY,
  LOGIN__SM2__PRIVATE_KEY: '1'.repeat(64),
}
