import { BAD_PERCENT } from '../notation/fault.ts'
import type { Report } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'

/** Checks that there is one way to the store. */
export function checkStore({ store }: DecodedSettings, report: Report, warn: Report): void {
  const { kind, redis } = store
  if (kind !== 'redis') {
    warnOfUnused(redis, warn)
    return
  }
  const ways = (['url', 'sentinels', 'cluster'] as const).filter(way => redis?.[way] !== undefined)
  if (redis === undefined || ways.length === 0) {
    report(
      ['store', 'redis'],
      'must say where Redis is; set store.redis.url (STORE__REDIS__URL), or sentinels with name, or cluster',
    )
    return
  }
  if (ways.length > 1) report(['store', 'redis'], `has ${ways.join(' and ')}; keep one way to reach Redis`)
  if (redis.sentinels !== undefined && redis.name === undefined) {
    report(['store', 'redis', 'sentinels'], 'need store.redis.name, the name of the master that they watch')
  }
  if (redis.name !== undefined && redis.sentinels === undefined) {
    report(
      ['store', 'redis', 'name'],
      'is the name of a master that Sentinels watch; add store.redis.sentinels or remove it',
    )
  }
  checkUrl(redis.url, report)
  checkWait(store, report)
  for (const key of ['username', 'password', 'tls'] as const) {
    if (redis.url === undefined || redis[key] === undefined) continue
    report(['store', 'redis', key], 'has no effect beside url; write it in the URL: rediss://user:password@host:port')
  }
}

/** No fault: STORE__KIND may switch between the stores of one file. */
function warnOfUnused(redis: DecodedSettings['store']['redis'], warn: Report): void {
  const [written] = Object.keys(redis ?? {})
  if (written === undefined) return
  warn(
    ['store', 'redis', written],
    'has no effect while store.kind is embedded; set store.kind: redis (STORE__KIND=redis), or remove it',
  )
}

/** User and password are decoded before they are sent. */
function checkUrl(url: string | undefined, report: Report): void {
  if (url === undefined) return
  try {
    const { username, password } = new URL(url)
    decodeURIComponent(username + password)
  } catch {
    report(['store', 'redis', 'url'], BAD_PERCENT)
  }
}

function checkWait({ timeout, redis }: DecodedSettings['store'], report: Report): void {
  const wait = redis?.wait ?? 'off'
  if (wait === 'off') return
  if (redis?.cluster !== undefined) {
    report(['store', 'redis', 'wait'], 'works with one server and with Sentinel only; remove it')
  }
  if (wait.timeout >= timeout) {
    report(['store', 'redis', 'wait', 'timeout'], 'must be shorter than store.timeout')
  }
}
