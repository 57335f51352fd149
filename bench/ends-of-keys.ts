import { execFile } from 'node:child_process'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import { Client } from 'undici'
import { parse } from 'yaml'
import { type BenchGateway, MAIN, operate, startGateway } from './gateway.ts'
import { makeKeys } from './keys.ts'
import { onScene, type Scene } from './process.ts'
import { startRedis } from './redis.ts'
import { fixed, note, printTable, quantile, whole } from './statistics.ts'
import { lateUses } from './used-while-ended.ts'

/** Connections to each gateway on which a key is used while it ends; its two workers share them. */
const CONNECTIONS = 4

interface Account {
  username: string
  [field: string]: unknown
}

interface Place {
  gateways: readonly BenchGateway[]
  /** The accounts file. */
  path: string
  /** Asks the first gateway as an administrator. */
  administer(path: string, body: object): Promise<void>
}

/** Each end of a key; it resolves when it is acknowledged. */
const ENDS: Readonly<Record<string, (place: Place, user: string, keyId: string) => Promise<void>>> = {
  'key revoked': ({ administer }, user_id, id) => administer('key/revoke', { user_id, id }),
  'account removed': ({ administer }, id) => administer('account/remove', { id }),
  'account INACTIVE': ({ administer }, id) => administer('account/edit', { id, status: 'INACTIVE' }),
  'password reset by an administrator': ({ administer }, id) => administer('account/reset-password', { id }),
  'login id disabled': async ({ gateways }, user_id) =>
    void (await operate(gateways[0]!, 'business/disable', { user_id, seconds: 600 })),
  'password set by the command line': ({ gateways: [gateway] }, user) => setPassword(gateway!, user),
  'password changed in the file': async ({ path }, user) => editAccount(path, user, { password: anotherHash() }),
  'account removed from the file': async ({ path }, user) => editAccount(path, user, null),
}

/** How soon each end of a key is known to both workers of each gateway, while the key is used. */
export async function endsOfKeys(rounds: number): Promise<void> {
  const rows: string[][] = []
  for (const store of ['embedded', 'redis'] as const) {
    await onScene(async scene => {
      const redis = store === 'redis' ? await startRedis(scene, 'redis-key-ends') : null
      if (store === 'redis' && redis === null) return note('redis-server is missing: Redis is left out')
      rows.push(...(await measure(scene, redis?.url, rounds)))
    })
  }
  printTable(['store, end of a key', 'ended', 'known everywhere after, median', 'worst'], rows)
}

async function measure(scene: Scene, redis: string | undefined, rounds: number): Promise<string[][]> {
  const kinds = Object.entries(ENDS)
  const users = Array.from({ length: kinds.length * rounds }, (_, i) => `u${i + 1}`)
  const path = join(scene.folder, 'accounts.yaml')
  writeAccounts(path, users)
  const gateways = await startGateways(scene, redis, path)
  const keys = await makeKeys({ redis, data: gateways[0]!.data, type: 'BUSINESS', path }, users)
  const clients = gateways.flatMap(({ url }) => Array.from({ length: CONNECTIONS }, () => new Client(url)))
  const place = { gateways, path, administer: await administrator(gateways[0]!) }
  const rows: string[][] = []
  for (const [name, end] of kinds) {
    const latest: number[] = []
    for (const user of users.splice(0, rounds)) {
      const key = keys.shift()!
      const late = await lateUses({
        clients,
        use: client => isAccepted(client, key),
        end: () => end(place, user, key.slice(4, 16)),
      })
      latest.push(Math.max(0, ...late))
    }
    const sorted = latest.toSorted((a, b) => a - b)
    const title = `${redis === undefined ? 'embedded' : 'redis'}, ${name}`
    rows.push([title, whole(rounds), ...[0.5, 1].map(share => `${fixed(quantile(sorted, share), 0)} ms`)])
    note(rows.at(-1)!.join(', '))
  }
  await Promise.all(clients.map(client => client.close()))
  return rows
}

/** One gateway of two workers on the embedded store; two of them on Redis. */
async function startGateways(scene: Scene, redis: string | undefined, path: string): Promise<BenchGateway[]> {
  const settings = {
    workers: 2,
    accounts: { kind: 'file', path },
    session_administration: true,
    session_cache: { business: 'tracking', consumer: 'tracking' },
    upstreams: [{ name: 'echo', match: '/api', target: 'builtin:echo' }],
  }
  const names = redis === undefined ? ['one'] : ['one', 'two']
  return Promise.all(names.map(name => startGateway(scene, `keys-${name}`, { redis, core: null, settings })))
}

async function isAccepted(client: Client, key: string): Promise<boolean> {
  const { body, statusCode } = await client.request({
    method: 'GET',
    path: '/api/v1/b/x',
    headers: { authorization: `Bearer ${key}` },
  })
  const { code } = (await body.json()) as { code?: number }
  // That of a refusal depends on its reason.
  if (statusCode >= 500) throw new Error(`status ${statusCode}`)
  return code !== 401 && code !== 403
}

async function administrator(gateway: BenchGateway): Promise<Place['administer']> {
  const { token } = await operate(gateway, 'business/login', { user_id: 'chief', extra: { roles: ['SUPER_ADMIN'] } })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async (path, body) => {
    const url = `${gateway.url}/api/v1/sys/${path}`
    const answer = await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    const { success, message } = answer as { success: boolean; message: string }
    if (!success) throw new Error(`${path}: ${message}`)
  }
}

async function setPassword({ folder, environment }: BenchGateway, name: string): Promise<void> {
  const words = [MAIN, 'account', 'passwd', name, '--config', 'gateway.yaml']
  await promisify(execFile)(process.execPath, words, { cwd: folder, env: environment })
}

/** Of no password that is used. */
const anotherHash = (): string => bcrypt.hashSync(crypto.randomUUID(), 4)

/** Writes accounts, and an administrator beside them, so that each of them can be removed. */
function writeAccounts(path: string, users: readonly string[]): void {
  const password = anotherHash()
  const chief = { id: 'chief', username: 'chief', password, status: 'ACTIVE', roles: ['SUPER_ADMIN'] }
  save(path, [chief, ...users.map(id => ({ id, username: id, password, status: 'ACTIVE', roles: [] }))])
}

/** Changes an account, or removes it, as an editor does. */
function editAccount(path: string, user: string, fields: object | null): void {
  const { accounts }: { accounts: Account[] } = parse(readFileSync(path, 'utf8'))
  const others = accounts.filter(({ username }) => username !== user)
  const [account] = accounts.filter(({ username }) => username === user)
  save(path, fields === null ? others : [...others, { ...account!, ...fields }])
}

function save(path: string, accounts: readonly Account[]): void {
  const draft = `${path}.new`
  writeFileSync(draft, JSON.stringify({ accounts }), { mode: 0o600 })
  renameSync(draft, path)
}
