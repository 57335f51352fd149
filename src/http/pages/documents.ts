import type { FastifyInstance } from 'fastify'
import { packageVersion } from '../../base/package-version.ts'
import type { Profile } from '../../settings/profile.ts'
import { serveAsset, vendored } from './assets.ts'
import { documentRoutes, type OpenApiOptions } from './openapi/openapi.ts'
import { pagePolicy } from './security-headers.ts'

/** What of a document the settings and the profile decide. */
export type DocumentOptions = Pick<OpenApiOptions, 'locale' | 'style' | 'tokenName' | 'keys'>

const ours = (name: string): URL => new URL(`./documents/${name}`, import.meta.url)

/**
 * Redoc keeps its rules in a `<style>` element that stays empty, by the CSSOM, and brings one that is always the same.
 * These two are let through, by their digests.
 */
const REDOC_STYLES = [
  "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
  "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='",
]

const PUBLIC = `What the gateway answers itself. Everything else below \`/api/v<n>/\` goes to the services behind it.

An answer is an envelope: \`code\`, \`message\`, \`data\`, \`success\`, \`trace_id\`. Where a refusal arrives with HTTP status 200,
\`code\` tells what it is. Only files, and the answers of a token endpoint, have a form of their own.`

const INTERNAL = `For the services behind the gateway: they sign users in and out, and ask about sessions and keys.

A client that knows the secret of this listener can become any user.`

/** Documents the routes that are made on the public listener from now on. */
export const documentPublicRoutes = (app: FastifyInstance, options: DocumentOptions): Promise<void> =>
  documentRoutes(app, { title: 'dualgate', introduction: PUBLIC, version: packageVersion(), ...options })

/** Documents those of the internal listener. */
export const documentInternalRoutes = (app: FastifyInstance, options: DocumentOptions): Promise<void> =>
  documentRoutes(app, {
    title: 'dualgate, internal listener',
    introduction: INTERNAL,
    version: packageVersion(),
    ...options,
  })

/** `/openapi.json`, the pages that show it, and the icon, on the public listener (rule 1). */
export function serveDocuments(app: FastifyInstance, profile: Profile): void {
  for (const path of profile.documentPaths) serveDocument(app, path)
  serveAsset(app, { path: '/docs', from: ours('docs.html') })
  serveAsset(app, { path: '/docs/docs.js', from: ours('docs.js') })
  serveAsset(app, { path: '/docs/swagger-ui.css', from: vendored('swagger-ui.css') })
  serveAsset(app, { path: '/docs/swagger-ui-bundle.js', from: vendored('swagger-ui-bundle.js') })
  serveAsset(app, {
    path: '/redoc',
    from: ours('redoc.html'),
    helmet: { contentSecurityPolicy: pagePolicy({ 'style-src': ["'self'", ...REDOC_STYLES] }) },
  })
  serveAsset(app, { path: '/redoc/redoc.js', from: ours('redoc.js') })
  serveAsset(app, { path: '/redoc/redoc.css', from: ours('redoc.css') })
  serveAsset(app, { path: '/redoc/redoc.standalone.js', from: vendored('redoc.standalone.js') })
  serveAsset(app, { path: '/favicon.ico', from: ours('favicon.ico') })
}

/** The document of the routes of a listener. */
export function serveDocument(app: FastifyInstance, path: string): void {
  serveAsset(app, { path, from: () => JSON.stringify(app.swagger()), extension: '.json' })
}
