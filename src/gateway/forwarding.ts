import { publishWebSockets, WebSockets } from '../http/websocket/websockets.ts'
import { readSessionName } from '../key/session-of-key.ts'
import { readIdentityKeys } from '../settings/identity-key.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { credentialRulesOf, servesWebSockets, signsAssertions } from '../settings/served.ts'
import { readClientCertificates } from '../settings/tls.ts'
import { SessionWatch } from '../store/session-watch.ts'
import type { AssertionSigner } from '../token/assertion.ts'
import { createOwnTokens } from '../token/issued-here.ts'
import { publishUpstreams } from '../upstream/metrics.ts'
import { createUpstreamTable } from '../upstream/table.ts'
import type { Sessions } from './core.ts'
import type { Setup } from './setup.ts'

export type Forwarding = Awaited<ReturnType<typeof openForwarding>>

/** Opens the upstreams, and the watch that ends connections with their sessions. */
export async function openForwarding(setup: Setup, { store, jwt, keys }: Sessions) {
  const { settings, options, clock, log, accessLog, meter, requests } = setup
  const ownsCors = settings.cors !== 'off'
  const signer = await openSigner(settings)
  const workers = options.workers ?? 1
  const upstreams = createUpstreamTable(settings.upstreams, { clock, log, ownsCors, workers, signer })
  publishUpstreams(meter, upstreams)
  const watch = new SessionWatch({
    sessions: store.sessions,
    changes: store.changes,
    clock,
    log,
    enforceDisable: settings.disable.enforce === 'request',
    keys: {
      idIn: name => readSessionName(name)?.id ?? null,
      endOf: async (type, name) => (await keys[type]?.sessions.endOf(name)) ?? null,
    },
  })
  const credentials = credentialRulesOf(settings)
  const webSockets = servesWebSockets(settings)
    ? new WebSockets({ watch, tokenHeader: credentials.tokenHeader, clock, log, accessLog, counter: requests })
    : null
  publishWebSockets(meter, webSockets)
  return {
    upstreams,
    watch,
    webSockets,
    credentials,
    clientCertificates: readClientCertificates(settings.upstreams),
    assertionKeys: signer?.keys ?? null,
    ownTokens: createOwnTokens(jwt),
    start: (): Promise<void> => upstreams.start(),
    async close(): Promise<void> {
      upstreams.close()
      watch.close()
    },
  }
}

/** What signs the assertions; `null` where no upstream gets any. */
async function openSigner(settings: Settings): Promise<AssertionSigner | null> {
  const { identity } = settings
  if (identity.key_file === undefined || !signsAssertions(settings)) return null
  const { current, other } = readIdentityKeys({ ...identity, key_file: identity.key_file })
  const { createAssertionSigner } = await import('../token/assertion.ts')
  return createAssertionSigner(identity.issuer, current, other)
}
