import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openFinder } from '../src/account/open.ts'
import { systemClock } from '../src/base/clock.ts'
import { createLog } from '../src/base/log/log.ts'
import { createKeys } from '../src/key/keys.ts'
import type { Scene } from './process.ts'
import { openBeside } from './stored.ts'

/** The account of programs to which all keys belong. */
const OWNER = 'robot'
const DAY = 86_400_000
/** Milliseconds for one change among many. */
const PATIENCE = 20_000

/** The accounts of consumers, and the settings that name them and let them have keys. */
export function consumersWithKeys(scene: Scene): { settings: Record<string, unknown>; path: string } {
  const path = join(scene.folder, 'consumers.yaml')
  writeFileSync(path, JSON.stringify({ accounts: [{ id: '1', username: OWNER, service: true, roles: [] }] }))
  return { path, settings: { login: { consumer: { kind: 'file', path } }, keys: { consumer: { max_per_user: 1000 } } } }
}

/** Makes keys of one consumer, in the embedded store of a folder. */
export async function makeKeys(data: string, path: string, count: number): Promise<string[]> {
  const log = createLog('error')
  const source = await openFinder({ kind: 'file', path }, systemClock, log)
  const owner = (await source.find(OWNER))!
  await source.close()
  const store = await openBeside(undefined, data, PATIENCE)
  const settings = { users: true, max_per_user: count, max_age: DAY, overlap: DAY }
  const { credentials } = store
  const keys = createKeys({ type: 'CONSUMER', credentials, settings, clock: systemClock, publish: () => undefined })
  const wanted = { name: 'bench', lifetime: DAY, permissions: null, paths: null, addresses: null }
  const made = await Promise.all(Array.from({ length: count }, () => keys.add(owner, wanted, { id: OWNER }, {})))
  await store.close()
  return made.map(({ key }) => key)
}
