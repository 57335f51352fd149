import { type Account, type AccountSource, findPerson } from '../../account/source.ts'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/refusal.ts'
import type { ProvedIdentity, Provider } from '../../provider/provider.ts'
import { ProviderRefusal } from '../../provider/refusal.ts'
import type { LoginType } from '../../session/sides.ts'
import type { ProviderSettings } from '../../settings/schema/providers.ts'
import { eventNames } from '../../side/event-names.ts'
import { accountOf, isMatched, matchValueOf, requirementFault, wantedClaims } from '../identity/claims.ts'
import { loginIdOf } from '../identity/login-id.ts'
import { type Proven, sessionDigest, userDigest } from '../identity/provider-sessions.ts'
import type { RateLimit } from '../protection/login-rate-limit.ts'
import type { Attempt, Progress, ProviderReason, RunAttempt } from '../sign-in/attempt.ts'
import type { Begin } from '../sign-in/begin.ts'
import { deviceTypeOf } from '../sign-in/device.ts'
import { refuseInactive } from '../sign-in/login.ts'
import type { SignedIn, Steps } from '../sign-in/steps/steps.ts'
import type { ClaimedAccounts } from './claimed-accounts.ts'
import type { Flows } from './flows.ts'

/** The browser of a user who signs in by a provider. */
export interface Visitor {
  /** Its flow cookie; `null` without one. */
  cookie: string | null
  /** The client's address, as reported by trusted proxies. */
  address: string
  userAgent: string
  /** The id of the request. */
  trace_id: string
}

/** Where a sign-in ends. `to` is where the user wanted to go; `null` if that is not known. */
export type Arrival =
  | { to: string; signedIn: SignedIn }
  /** The sign-in needs a step; `name` is what the page asks for it by. */
  | { to: string; step: string }
  | { to: string | null; refusal: Refusal; reason: ProviderReason | null }

/** A provider, and what its sign-ins need. */
export interface ProviderParts {
  provider: Provider
  /** Present with `account: claims` and `second_factor: own`. */
  own?: { accounts: ClaimedAccounts; steps: Pick<Steps, 'proceed'> }
}

export interface SignInsOptions {
  type: LoginType
  /** By the names of the providers. */
  parts: ReadonlyMap<string, ProviderParts>
  flows: Flows
  /** The accounts of the side, and its steps; `null` for a side whose login is served elsewhere. */
  local: { accounts: Pick<AccountSource, 'find'>; steps: Pick<Steps, 'proceed'>; begin: Begin } | null
  /** Begins the session of an account that consists of claims. */
  begin: Begin
  rateLimit: RateLimit
  /** Where the provider sends the browser back to. */
  callbackOf(name: string): string
  run: RunAttempt
  clock: Clock
}

export type SignIns = ReturnType<typeof createSignIns>

/** Sign-ins of one side by OpenID providers. */
export function createSignIns(options: SignInsOptions) {
  const { parts, flows, rateLimit, callbackOf } = options
  return {
    /** Where the browser goes, and its cookie. Throws `Unavailable` if the provider is down, and `BUSY` in a flood. */
    async start(name: string, to: string, visitor: Visitor): Promise<{ location: string; cookie: string }> {
      await rateLimit('login', visitor.address)
      const begun = await flows.begin(name, to, visitor)
      const location = await parts.get(name)!.provider.authorizationUrl(begun.flow, callbackOf(name))
      return { location, cookie: begun.cookie }
    },

    /** Continues a sign-in with the query of its callback. */
    arrive: createArrive(options),

    /** What the next step of a sign-in needs, once, as a login answers it; `null` without one for this browser. */
    takeStep: flows.takeStep,
  }
}

/** From the callback to a session, or to a refusal; `found` is called as soon as it is known where the user wants to go. */
function createSignIn(options: SignInsOptions) {
  const { parts, flows, rateLimit, callbackOf, clock } = options
  const proceed = createProceed(options)
  return async (
    name: string,
    query: URLSearchParams,
    visitor: Visitor,
    attempt: Attempt,
    found: (to: string) => void,
  ) => {
    const { address, cookie } = visitor
    await rateLimit('step', address)
    const taken = await flows.take(name, query.get('state') ?? '', cookie)
    if ('fault' in taken) {
      if (taken.fault === 'used-state') found(taken.to)
      throw refused(attempt, taken.fault)
    }
    const { flow } = taken
    found(flow.to)
    const part = parts.get(name)!
    const { settings } = part.provider
    const identity = await part.provider
      .prove(query, flow, callbackOf(name), wantedClaims(settings))
      .catch(fault => refuseProven(attempt, fault))
    await flows.proven(flow)
    const proven = provenBy(settings, identity, clock)
    const device = { device_type: deviceTypeOf(visitor.userAgent), device_id: '', login_ip: address }
    const signedIn = await proceed(part, identity, { device, proven }, attempt)
    return { to: flow.to, signedIn, token: signedIn.token }
  }
}

function createArrive(options: SignInsOptions) {
  const { type, flows, run } = options
  const signIn = createSignIn(options)
  const keptStep = async (to: string, { data }: Refusal, { cookie }: Visitor): Promise<Arrival> => ({
    to,
    step: await flows.keepStep(cookie!, data),
  })

  return async (name: string, query: URLSearchParams, visitor: Visitor): Promise<Arrival> => {
    const { address, userAgent, trace_id } = visitor
    const origin = { trace_id, address, device_type: deviceTypeOf(userAgent) }
    const attempt: Attempt = { type, address, provider: name, origin }
    let to: string | null = null
    const found = (wanted: string): void => {
      to = wanted
    }
    const refusedWith = (fault: unknown): Arrival => {
      if (!(fault instanceof Refusal)) throw fault
      return { to, refusal: fault, reason: (attempt.because as ProviderReason | undefined) ?? null }
    }
    try {
      return await run(attempt, () => signIn(name, query, visitor, attempt, found))
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault
      const { reason } = fault
      if (reason === 'STEP_REQUIRED' && to !== null) return keptStep(to, fault, visitor).catch(refusedWith)
      // Its sign-in has not been taken: the callback may come again.
      if (reason === 'TOO_MANY_ATTEMPTS') to ??= await flows.wantedBy(name, query.get('state') ?? '', visitor.cookie)
      return refusedWith(fault)
    }
  }
}

/** What a provider does not prove is a refusal of the sign-in. */
function refuseProven(attempt: Attempt, fault: unknown): never {
  throw fault instanceof ProviderRefusal ? refused(attempt, fault.fault, fault) : fault
}

/** A failure of the sign-in; the reason is for log and journal. */
function refused(attempt: Attempt, because: ProviderReason, cause?: ProviderRefusal): Refusal {
  attempt.because = because
  if (cause?.detail !== undefined) attempt.said = cause.detail
  return new Refusal('PROVIDER_REFUSED')
}

function provenBy({ name, session, account }: ProviderSettings, identity: ProvedIdentity, clock: Clock): Proven {
  const { sub, sid, claims, idToken } = identity
  return {
    provider: name,
    user: userDigest(name, sub),
    ...(sid !== undefined && { session: sessionDigest(name, sid) }),
    issuedAt: Number(claims.iat),
    latestEnd: clock.now() + session,
    idToken,
    isClaimed: account === 'claims',
  }
}

/** Finds the account of a proven user, and begins its session or demands a step. */
function createProceed({ local, begin }: SignInsOptions) {
  type Known = Pick<Progress, 'device' | 'proven'>

  /** The session of an account of the side: its password is not needed, so it is not demanded to be changed either. */
  async function matched({ settings }: Provider, identity: ProvedIdentity, known: Known, attempt: Attempt) {
    if (local === null) throw new Error('the side has no accounts')
    const fault = requirementFault(settings, identity.claims)
    if (fault !== null) throw unfit(attempt, fault)
    const value = matchValueOf(settings, identity.claims)
    if ('refused' in value) throw unfit(attempt, value.refused)
    const account = await findPerson(local.accounts, value.value)
    if (account === null || !isMatched(account, value.value)) throw refused(attempt, 'no-account')
    name(attempt, account)
    refuseInactive(account)
    if (settings.second_factor === 'own')
      return local.steps.proceed({ ...known, account, passed: ['password'] }, attempt)
    return local.begin({ ...known, account, passed: [] }, attempt)
  }

  async function claimed({ provider, own }: ProviderParts, identity: ProvedIdentity, known: Known, attempt: Attempt) {
    attempt.login_id = loginIdOf(provider.settings.name, identity.sub)
    const mapped = accountOf(provider.settings, identity)
    if ('refused' in mapped) throw unfit(attempt, mapped.refused)
    name(attempt, mapped.account)
    const fault = requirementFault(provider.settings, identity.claims)
    if (fault !== null) throw unfit(attempt, fault)
    if (own === undefined) return begin({ ...known, account: mapped.account, passed: [] }, attempt)
    const account = await own.accounts.keep(mapped.account)
    return own.steps.proceed({ ...known, account, passed: ['password'] }, attempt)
  }

  return (part: ProviderParts, identity: ProvedIdentity, known: Known, attempt: Attempt): Promise<SignedIn> =>
    part.provider.settings.account === 'match'
      ? matched(part.provider, identity, known, attempt)
      : claimed(part, identity, known, attempt)
}

/** The provider has proven the user, and the settings do not let this one in. */
function unfit(attempt: Attempt, reason: ProviderReason): Refusal {
  attempt.reason = reason
  return refused(attempt, reason)
}

/** From here on the account is known to log and journal. */
function name(attempt: Attempt, account: Account): void {
  attempt.login_id = account.id
  attempt.names = eventNames({ ...account.extra, username: account.username })
}
