import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../base/refusal.ts'
import type { Profile } from '../settings/profile.ts'
import type { Store } from '../store/store.ts'
import type { UpstreamTable } from '../upstream/table.ts'
import { documentInternalRoutes, serveDocument } from './pages/documents.ts'
import { type AssertionKeys, serveKeys } from './pages/jwks.ts'
import { protectPages } from './pages/security-headers.ts'
import { type ExplainOptions, serveExplain } from './routes/explain.ts'
import type { KeysOfSides } from './routes/keys/own.ts'
import { serveMetrics } from './routes/metrics.ts'
import { serveOperations } from './routes/operations/operations.ts'
import { serveKeyOperations } from './routes/operations/verify-key.ts'
import { serveProbes } from './routes/probes.ts'
import { serveVerify, type VerifyOptions } from './routes/verify.ts'
import { refuseDoubled, refuseForeignTarget, refuseInvalid, refuseMisframed } from './server/ambiguous-request.ts'
import type { Sides } from './server/authenticate.ts'
import type { Envelopes } from './server/envelope.ts'
import type { Locale } from './server/failure-texts.ts'
import { OwnPaths } from './server/own-paths.ts'

export interface InternalListenerOptions {
  secret: string
  sides: Sides
  profile: Profile
  envelopes: Envelopes
  locale: Locale
  store: Store
  /** Unwise settings and faults that last, as `/readyz` may show them. */
  warnings(): readonly string[]
  upstreams: UpstreamTable
  /** The public keys of assertions; `null` where no upstream gets any. */
  assertionKeys: AssertionKeys | null
  /** By what `/verify` decides. */
  verify: Pick<VerifyOptions, 'rules' | 'gateSides' | 'credentials' | 'permissions' | 'trustedProxies'>
  /** `null` for a side without keys. */
  keys: KeysOfSides
  /** What an explanation needs beside the parts above. */
  explain: Omit<ExplainOptions, 'sides' | 'upstreams' | 'permissions' | 'envelopes'>
  /** What `/metrics` answers. */
  gatherMetrics: () => Promise<string>
  /** Whether the public listener accepts no more connections. */
  isStopping(): boolean
}

/** Every path below it needs the secret. */
const OPERATIONS = '/operations/'

/** The internal listener: probes for operators, and operations for services that know the secret. */
export async function serveInternalListener(app: FastifyInstance, options: InternalListenerOptions): Promise<void> {
  const { secret, sides, profile, envelopes, locale, store, warnings, upstreams, gatherMetrics, isStopping } = options
  const ownPaths = new OwnPaths()
  const requireSecret = ({ headers }: FastifyRequest): void => {
    if (!isSecret(secret, headers.authorization)) throw new Refusal('WRONG_SECRET')
  }
  app.addHook('onRequest', (request, reply, done) => {
    refuseMisframed(request.raw, reply.raw)
    const path = request.url.split('?', 1)[0]!
    ownPaths.refuseUnknownMethod(request.method, path)
    refuseInvalid(request.raw, request.host)
    refuseForeignTarget(request.raw)
    refuseDoubled(request.raw.rawHeaders, 'authorization')
    if (!ownPaths.lacks(request.method, path)) return done()
    if (path.startsWith(OPERATIONS)) requireSecret(request)
    ownPaths.answerOther(request, reply, path)
  })
  ownPaths.collect(app)
  await documentInternalRoutes(app, { locale, style: 'native', tokenName: 'Authorization', keys: false })
  serveProbes(app, { store, warnings, upstreams, isStopping })
  serveMetrics(app, gatherMetrics)
  serveVerify(app, { ...options.verify, upstreams, envelopes })
  await app.register(async pages => {
    await protectPages(pages)
    serveDocument(pages, '/openapi.json')
    serveKeys(pages, options.assertionKeys)
  })
  await app.register(async operations => {
    operations.addHook('onRequest', async request => requireSecret(request))
    serveOperations(operations, sides, profile, envelopes)
    serveKeyOperations(operations, options.keys, options.explain.timestamps, envelopes)
    serveExplain(operations, {
      ...options.explain,
      sides,
      upstreams,
      permissions: options.verify.permissions,
      envelopes,
    })
  })
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Digests are compared, so that the time reveals neither content nor length of the secret. */
function isSecret(secret: string, authorization: string | undefined): boolean {
  const sent = /^bearer (.+)$/i.exec(authorization ?? '')?.[1] ?? ''
  return timingSafeEqual(digest(sent), digest(secret))
}
