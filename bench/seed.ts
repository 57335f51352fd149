import { createHmac } from 'node:crypto'
import { Cluster } from 'ioredis'
import type { Clock } from '../src/base/clock.ts'
import { createTimestampFormat } from '../src/base/timestamp.ts'
import { type SessionRecord, writeRecord } from '../src/session/record.ts'
import type { LoginType } from '../src/session/sides.ts'
import { createKeys } from '../src/store/redis/commands/key-names.ts'
import type { Store } from '../src/store/store.ts'
import { createJwt } from '../src/token/jwt.ts'
import { clockOf } from '../test/support/clock.ts'
import { SECRETS } from './gateway.ts'
import type { RedisPlace } from './redis.ts'
import { note, whole } from './statistics.ts'
import { openBeside } from './stored.ts'

const SIDE: LoginType = 'CONSUMER'
const DAY = 86_400_000
/** The logins lie in the last seven days, and sessions live for thirty. */
const HISTORY = 7 * DAY
const LIFETIME = 30 * DAY
/** Five of six logins are a user's first: a million users have 1.2 million tokens. */
export const LOGINS_PER_USER = 1.2
/** Milliseconds for one change among very many at once. */
const PATIENCE = 120_000

const FIRST = [
  'Ann',
  'Bo',
  'Chen',
  'Dora',
  'Emil',
  'Fatima',
  'Grace',
  'Hiro',
  'Ines',
  'Jun',
  'Kim',
  'Li',
  'Mei',
  'Nora',
]
const LAST = ['Berg', 'Costa', 'Dahl', 'Evans', 'Fischer', 'Gupta', 'Huang', 'Ito', 'Jensen', 'Klein', 'Lopez', 'Wang']

/** Where the users are created: Redis, or the folder of the embedded store. */
export interface Ground {
  redis?: RedisPlace | undefined
  data: string
  /** Changes in progress at a time. */
  together: number
  /** Whether the list of the online users of a Cluster is to have them all, which takes some 2 ms for each; `true` when not given. */
  listed?: boolean
}

/** What takes the logins. */
interface Sink {
  add(token: string, record: SessionRecord, expiresAt: number): Promise<unknown>
  /** Resolves when the online users include them all. */
  finish(logins: number): Promise<void>
}

/** The id of a seeded user, in the form of existing ids: 19 digits, unordered. */
export const seededUser = (i: number): string =>
  `19${((i * 7_368_787) % 99_999_989).toString().padStart(8, '0')}${'0'.repeat(9)}`

/**
 * Fills a store with consumers as a week of logins would: through its interface, or a Cluster by the keys of the
 * specification, as other programs do. `onToken` gets each token. Returns their number.
 */
export async function seed(
  ground: Ground,
  users: number,
  onToken: (token: string, login: number) => void = () => undefined,
): Promise<number> {
  const logins = Math.round(users * LOGINS_PER_USER)
  const began = Date.now() - HISTORY
  let now = began
  const clock = clockOf(() => now)
  const sink = await openSink(ground, clock)
  const timestamps = createTimestampFormat('UTC')
  const jwt = createJwt(SIGNER, 'HS256', clock, 2)

  const one = async (login: number): Promise<void> => {
    const user = userOf(login, users, logins)
    const record = {
      user_id: seededUser(user),
      type: SIDE,
      created_at: timestamps.write(now),
      extra: extraOf(user),
    }
    const token = jwt.issue()
    onToken(token, login)
    await sink.add(token, record, now + LIFETIME)
  }
  const start = performance.now()
  const { together } = ground
  for (let login = 0; login < logins; login += together) {
    now = began + Math.floor((login / logins) * HISTORY)
    await Promise.all(Array.from({ length: Math.min(together, logins - login) }, (_, i) => one(login + i)))
    if (login % 100_000 < together)
      note(`${whole(login)} of ${whole(logins)} logins, ${whole((login / (performance.now() - start)) * 1000)}/s`)
  }
  now = began + HISTORY
  await sink.finish(logins)
  return logins
}

async function openSink({ redis, data, listed = true }: Ground, clock: Clock): Promise<Sink> {
  if (typeof redis === 'object') return clusterSink(redis, data, listed)
  const store = await openBeside(redis, data, PATIENCE, { clock })
  return {
    async add(token, record, expiresAt) {
      const admission = await store.sessions.add(SIDE, token, record, expiresAt)
      if (!admission.admitted) throw new Error('a seeded login was refused')
    },
    async finish(logins) {
      await settle(store, logins)
      await store.close()
    },
  }
}

function clusterSink(nodes: Exclude<RedisPlace, string>, data: string, listed: boolean): Sink {
  const client = new Cluster([...nodes], { enableAutoPipelining: true, redisOptions: { protocol: 2 } })
  const keys = createKeys('svc:auth')
  return {
    add(token, record, expiresAt) {
      const sessions = keys.session(SIDE, record.user_id)
      return Promise.all([
        client.set(keys.token(SIDE, token), writeRecord(record), 'PXAT', expiresAt),
        client.sadd(sessions, token),
        client.pexpireat(sessions, expiresAt),
      ])
    },
    async finish(logins) {
      await client.quit()
      if (!listed) return
      const store = await openBeside(nodes, data, PATIENCE)
      const began = performance.now()
      let told = 0
      const live = await store.online.reindex(SIDE, done => {
        if (done - told < 100_000) return
        told = done
        note(`${whole(done)} of ${whole(logins)} in the list, ${whole((done / (performance.now() - began)) * 1000)}/s`)
      })
      await store.close()
      if (live !== logins) throw new Error(`the list has ${live} tokens, not ${logins}`)
      note(`the list of ${whole(live)} tokens was built in ${whole((performance.now() - began) / 1000)} s`)
    },
  }
}

/** The first logins of all users in turn, mixed with second logins of earlier users. */
function userOf(login: number, users: number, logins: number): number {
  const before = Math.floor((login * users) / logins)
  const isFirst = Math.floor(((login + 1) * users) / logins) > before
  return isFirst ? before : Math.floor((before * ((login * 31) % 997)) / 997)
}

const extraOf = (user: number): Record<string, string> => ({
  username: `user${user}`,
  nickname: `${FIRST[user % FIRST.length]} ${LAST[user % LAST.length]}`,
  avatar: `https://img.example/${user}.png`,
  status: 'ACTIVE',
  device_type: 'Chrome',
  device_id: 'WEB_PC',
  login_ip: `10.${(user >> 16) & 255}.${(user >> 8) & 255}.${user & 255}`,
})

const SIGNER = {
  sign(claims: object): string {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
    return `${text}.${createHmac('sha256', SECRETS.jwt).update(text).digest('base64url')}`
  },
  verify: (): never => {
    throw new Error('seeding reads no tokens')
  },
  isSigned: () => false,
}

/** The store's work after its answers is done when the online users include every login. */
async function settle({ online }: Pick<Store, 'online'>, logins: number): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if ((await online.tally(SIDE)).tokens === logins) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`the view counts ${(await online.tally(SIDE)).tokens} tokens, not ${logins}`)
}
