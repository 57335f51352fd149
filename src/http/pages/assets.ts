import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Protection } from './security-headers.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.ico': 'image/x-icon',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

export interface Asset {
  path: string
  /** The file to serve, or a function that generates the text. */
  from: URL | (() => string)
  /** Extension that says the type; the file's own when not given. */
  extension?: string
  /** What protects the page in a browser, where it differs from that of all pages. */
  helmet?: Protection
  /** `no-store`: no cache keeps it. By default caches keep it, and ask every time whether it has changed. */
  cache?: 'no-store' | 'public, max-age=300'
}

/** A file of a page, which `npm run build` makes. */
export const ofPage = (name: string): URL => new URL(`../../../dist/console/${name}`, import.meta.url)

/** Files that `npm run build` takes out of other packages. */
export const vendored = (name: string): URL => new URL(`../../../dist/vendor/${name}`, import.meta.url)

/**
 * Serves a document that is the same for every client. It is read at the first request and then cached. Not by
 * `@fastify/static`: its entity tags are size and modification time, and npm gives every packed file the same time, so that
 * a browser would keep an old page after an upgrade; and it cannot serve generated texts.
 */
export function serveAsset(app: FastifyInstance, { path, from, extension, helmet, cache }: Asset): void {
  const type = TYPES[extension ?? extname(from instanceof URL ? from.pathname : path)] ?? 'application/octet-stream'
  const read = onceItWorks(() => readContent(from))
  app.route({
    method: ['GET', 'HEAD'],
    url: path,
    ...(helmet && { helmet }),
    handler: async (request, reply) => answer(request, reply.type(type), await read(), cache),
  })
}

interface Content {
  plain: Buffer
  zipped: Buffer
  digest: string
}

/** Below this size the additional header costs as much as compression saves. */
const WORTH_ZIPPING = 1024
const zip = promisify(gzip)

async function readContent(from: Asset['from']): Promise<Content> {
  const plain = from instanceof URL ? await readFile(from) : Buffer.from(from())
  const zipped = plain.length < WORTH_ZIPPING ? plain : await zip(plain)
  return { plain, zipped, digest: createHash('sha256').update(plain).digest('base64url').slice(0, 27) }
}

/**
 * Bytes of a file that are written at a time. Of what is written, TLS keeps a copy of its own for each client until it accepts it, and
 * anyone may ask for 1.7 MB with a few bytes, and read slowly.
 */
const PIECE = 16_384

function inPieces(content: Buffer): Readable {
  let at = 0
  return new Readable({
    highWaterMark: PIECE,
    read() {
      this.push(at < content.length ? content.subarray(at, at + PIECE) : null)
      at += PIECE
    },
  })
}

/** Uses the entity tag: browsers revalidate every time, and get 304 if nothing changed. */
function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { plain, zipped, digest }: Content,
  cache: Asset['cache'] | 'no-cache' = 'no-cache',
) {
  const isZipped =
    zipped !== plain && /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(String(request.headers['accept-encoding']))
  const tag = isZipped ? `"${digest}-gzip"` : `"${digest}"`
  reply.headers({
    etag: tag,
    'cache-control': cache,
    // CORS may have said already that it depends on the origin.
    vary: [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', '),
  })
  const known = (request.headers['if-none-match'] ?? '').split(',').map(known => known.trim().replace(/^W\//, ''))
  if (known.includes(tag)) return reply.code(304).send()
  if (isZipped) reply.header('content-encoding', 'gzip')
  const content = isZipped ? zipped : plain
  if (content.length <= PIECE) return reply.send(content)
  return reply.header('content-length', content.length).send(inPieces(content))
}

/** One read for all simultaneous requests; a failed read is not cached. */
function onceItWorks<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | null = null
  return () => {
    reading ??= read().catch(fault => {
      reading = null
      throw fault
    })
    return reading
  }
}
