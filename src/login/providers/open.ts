import type { AccountSource } from '../../account/source.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/log/log.ts'
import { signInPaths } from '../../gate/own-pages.ts'
import { createProvider, type Provider } from '../../provider/provider.ts'
import { createSecondFactors, type SecondFactorsOptions } from '../../second-factor/second-factors.ts'
import { providerIn } from '../../session/provider.ts'
import type { LoginType } from '../../session/sides.ts'
import type { ProviderSettings } from '../../settings/schema/providers.ts'
import type { Session } from '../../side/side.ts'
import type { Store } from '../../store/store.ts'
import type { ProviderSessions } from '../identity/provider-sessions.ts'
import type { RateLimit } from '../protection/login-rate-limit.ts'
import type { RunAttempt } from '../sign-in/attempt.ts'
import { type Begin, type BeginOptions, createBegin } from '../sign-in/begin.ts'
import { createSteps, type Steps, type StepsOptions } from '../sign-in/steps/steps.ts'
import { createClaimedAccounts } from './claimed-accounts.ts'
import { createFlows } from './flows.ts'
import { createLogouts } from './logouts.ts'
import { createSignIns, type ProviderParts, type SignIns } from './sign-ins.ts'

/** What a side does with its OpenID providers. */
export interface ProviderLogin extends SignIns {
  readonly settings: readonly ProviderSettings[]
  /** Ends the sessions of a logout token: see `createLogouts`. */
  logout(name: string, token: string): Promise<void>
  /** Where the sign-out of a session goes on to, at its provider; `null` for the session of none, and where the provider has no such place. */
  signOutAt(session: Session): Promise<string | null>
  /** The steps to which a ticket belongs; `null` for those of the accounts of the side. */
  stepsOf(ticket: string): Steps | null
  close(): Promise<void>
}

export interface ProviderLoginOptions {
  type: LoginType
  providers: readonly ProviderSettings[]
  /** `browser.url`. */
  url: string
  store: Pick<Store, 'tickets' | 'attempts' | 'factors'>
  sessions: ProviderSessions
  /** The accounts of the side, and its steps; `null` for a side whose login is served elsewhere. */
  local: { accounts: AccountSource; steps: Pick<Steps, 'proceed'>; begin: Begin } | null
  beginning: Omit<BeginOptions, 'accounts'>
  /** What steps need, but for the accounts. */
  steps: Omit<StepsOptions, 'accounts' | 'factors' | 'begin'>
  factors: Omit<SecondFactorsOptions, 'accounts'>
  rateLimit: RateLimit
  run: RunAttempt
  clock: Clock
  log: Logger
}

/** An account that consists of claims is in no source that could change it. */
const NO_SOURCE: BeginOptions['accounts'] = { find: async () => null }

export function openProviderLogin(options: ProviderLoginOptions): ProviderLogin {
  const { type, providers, url, store, sessions, clock } = options
  const page = `${url}${signInPaths(type).page}`
  const parts = new Map<string, ProviderParts & { steps: Steps | null }>()
  for (const settings of providers) {
    const provider = createProvider(settings, options)
    const own = settings.account === 'claims' && settings.second_factor === 'own' ? createOwn(options, provider) : null
    parts.set(settings.name, { provider, steps: own?.steps ?? null, ...(own !== null && { own }) })
  }
  const providerOf = (name: string): Provider => parts.get(name)!.provider
  const end = createLogouts({ sessions, attempts: store.attempts, clock })
  return {
    ...createSignIns({
      ...options,
      parts,
      flows: createFlows(type, store, clock),
      begin: createBegin({ ...options.beginning, accounts: NO_SOURCE }),
      callbackOf: name => `${page}${name}/callback`,
    }),
    settings: providers,
    logout: (name, token) => end(providerOf(name), token),
    async signOutAt({ claims, record }) {
      const provider = parts.get(providerIn(record.extra) ?? '')?.provider
      if (provider === undefined) return null
      return provider.endSessionUrl(await sessions.takeIdToken(claims.jti), `${page}?signed-out=1`)
    },
    stepsOf: ticket => parts.get(ticket.slice(0, Math.max(0, ticket.indexOf('.'))))?.steps ?? null,
    async close() {
      await Promise.all([...parts.values()].map(({ provider }) => provider.close()))
    },
  }
}

/** Accounts of claims that have a second factor of the gateway, and the steps of their logins. */
function createOwn({ type, store, beginning, steps, factors, clock }: ProviderLoginOptions, { settings }: Provider) {
  const place = { type, place: store.factors }
  const accounts = createClaimedAccounts({ factors: place, tickets: store.tickets, clock })
  return {
    accounts,
    steps: createSteps({
      ...steps,
      accounts,
      factors: createSecondFactors({ ...factors, accounts }),
      begin: createBegin({ ...beginning, accounts }),
      mark: `${settings.name}.`,
    }),
  }
}
