import * as zlib from 'node:zlib'

/*
 * Seen in: Node 22.0.0 and 22.1.0, and not in 20.19.0 and 22.2.0. `node:zlib` has no `crc32`.
 * Upstream: https://nodejs.org/api/zlib.html#zlibcrc32data-value (added in Node 22.2).
 * Without it: no key can be made or read, and a request with a key is an internal fault.
 * Until: Node 22 is no longer supported.
 */

/** The checksum that `gzip` writes before the length, at the end. */
export function crc32OfGzip(text: string): number {
  const zipped = zlib.gzipSync(text)
  return zipped.readUInt32LE(zipped.length - 8)
}

export const crc32: (text: string) => number = 'crc32' in zlib ? zlib.crc32 : crc32OfGzip
