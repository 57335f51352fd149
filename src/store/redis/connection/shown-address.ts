import type { RedisSettings } from './options.ts'

/** Where a Redis is, without user and password. */
export function placeOf({ url, sentinels, name, cluster }: RedisSettings): string {
  if (url !== undefined) {
    if (!URL.canParse(url)) return 'an invalid address'
    const { hostname, port, pathname } = new URL(url)
    return `${hostname}:${port || 6379}, database ${pathname.slice(1) || 0}`
  }
  const nodes = (sentinels ?? cluster ?? []).map(({ host, port }) => `${host}:${port}`).join(', ')
  return sentinels === undefined ? `Cluster of ${nodes}` : `master ${name}, by the Sentinels ${nodes}`
}
