import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openFinder } from '../src/account/open.ts'
import { systemClock } from '../src/base/clock.ts'
import { createLog } from '../src/base/log/log.ts'
import { createKeys } from '../src/key/keys.ts'
import type { LoginType } from '../src/session/sides.ts'
import type { Scene } from './process.ts'
import { openBeside } from './stored.ts'

/** The account of programs to which all keys belong. */
const OWNER = 'robot'
const DAY = 86_400_000
/** Milliseconds for one change among many. */
const PATIENCE = 20_000

/** A gateway on the embedded store, for programs with so many keys of one consumer. */
export async function gatewayWithKeys(
  scene: Scene,
  count: number,
): Promise<{ settings: Record<string, unknown>; data: string; keys: string[] }> {
  const path = join(scene.folder, 'consumers.yaml')
  writeFileSync(path, JSON.stringify({ accounts: [{ id: '1', username: OWNER, service: true, roles: [] }] }))
  const data = join(scene.folder, 'key-data')
  mkdirSync(data, { recursive: true })
  const keys = await makeKeys({ data, type: 'CONSUMER', path }, Array(count).fill(OWNER))
  return { settings: { login: { consumer: { kind: 'file', path } }, keys: { consumer: { users: true } } }, data, keys }
}

export interface PlaceOfKeys {
  /** Address of Redis, or the folder of the embedded store. */
  redis?: string | undefined
  data: string
  type: LoginType
  /** The accounts file of the side. */
  path: string
}

/** Makes a key for each of these users, in their order; one who is named several times gets several. */
export async function makeKeys({ redis, data, type, path }: PlaceOfKeys, users: readonly string[]): Promise<string[]> {
  const source = await openFinder({ kind: 'file', path }, systemClock, createLog('error'))
  const store = await openBeside(redis, data, PATIENCE)
  const settings = { users: true, max_per_user: users.length, max_age: DAY, overlap: DAY }
  const { credentials, attempts } = store
  const keys = createKeys({ type, credentials, attempts, settings, clock: systemClock, publish: () => undefined })
  const wanted = { name: 'bench', lifetime: DAY, permissions: null, paths: null, addresses: null }
  const one = async (user: string) => keys.add((await source.find(user))!, wanted, { id: user }, {})
  const made = await Promise.all(users.map(one))
  await Promise.all([store.close(), source.close()])
  return made.map(({ key }) => key)
}
