import helmet, { type FastifyHelmetOptions } from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { ProviderSettings } from '../../settings/schema/providers.ts'

/** The sources that a page can load, run and call: its own files and its own gateway. Inline code does not run. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'frame-ancestors': ["'none'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
}

/** The headers that protect a page, as far as they differ from those of all pages. */
export type Protection = FastifyHelmetOptions

type Policy = NonNullable<FastifyHelmetOptions['contentSecurityPolicy']>

/** The content security policy of a page, with what it may do besides. */
export const pagePolicy = (besides: Readonly<Record<string, readonly string[]>> = {}): Policy => ({
  useDefaults: false,
  directives: { ...SOURCES, ...besides },
})

/** That of a page with a form, which may lead on to providers. With the default, browsers would send its `Origin` as `null`. */
export const withForm = (providers: readonly ProviderSettings[]): Protection => ({
  contentSecurityPolicy: pagePolicy({ 'form-action': formTargets(providers) }),
  referrerPolicy: { policy: 'same-origin' },
})

/** Browsers hold every redirection of a form to this list, and a provider may lead on to others of its own. */
const formTargets = (providers: readonly ProviderSettings[]): string[] => {
  const plain = providers.map(({ issuer }) => new URL(issuer)).filter(({ protocol }) => protocol === 'http:')
  return ["'self'", ...(providers.length > 0 ? ['https:'] : []), ...plain.map(({ origin }) => origin)]
}

/**
 * Sends the headers that protect a page in a browser with every answer of this context. Not in the context of forwarded
 * requests, whose answers belong to the upstreams. `Strict-Transport-Security` would bind the whole host: it is sent by
 * what ends TLS for all its ports and programs.
 */
export async function protectPages(app: FastifyInstance): Promise<void> {
  await app.register(helmet, { contentSecurityPolicy: pagePolicy(), strictTransportSecurity: false })
}
