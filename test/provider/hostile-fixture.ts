import { inspect } from 'node:util'
import type { Test } from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import { Unavailable } from '../../src/base/refusal.ts'
import type { ProvedIdentity, Provider } from '../../src/provider/provider.ts'
import { type ProviderFault, ProviderRefusal } from '../../src/provider/refusal.ts'
import type { ProviderSettings } from '../../src/settings/schema/providers.ts'
import { createTestClock } from '../support/clock.ts'
import { type HostileProvider, newKey, type SigningKey, startHostileProvider } from '../support/hostile-provider.ts'
import { expectSecrecy } from '../support/secrecy.ts'
import { CLIENT, newRequest, open, REDIRECT_URI } from './provider-fixture.ts'

/** The key with which a hostile provider signs by default. */
export const KEY = await newKey('ES256', 'first')

/** Far from the time of the system, which must not count. */
const START = Date.UTC(2033, 4, 18)

export interface HostileFixture {
  hostile: HostileProvider
  provider: Provider
  clock: Clock & { time: number }
  /** Of the provider's log. */
  lines: string[]
  /** A whole sign-in; `changes` are those of the callback. */
  signIn(wanted?: readonly string[], changes?: Record<string, unknown>): Promise<ProvedIdentity>
  /** That work ends with this refusal and, like the log, without a secret. Answers it. */
  refuses(fault: ProviderFault, work?: Promise<unknown>): Promise<ProviderRefusal>
  /** That work ends as with a provider that is down and, like the log, without a secret. Answers what went wrong, as text. */
  isUnavailable(work?: Promise<unknown>): Promise<string>
}

export async function openHostile(
  t: Test,
  changes: Partial<ProviderSettings> = {},
  key: SigningKey = KEY,
): Promise<HostileFixture> {
  const clock = createTestClock(START)
  const hostile = await startHostileProvider(clock, key)
  t.teardown(() => hostile.stop())
  return fixtureOf(t, hostile, clock, changes)
}

const textOf = (fault: unknown): string => inspect(fault, { depth: Infinity, showHidden: true, getters: true })

/** The gateway's side of a provider. */
export function fixtureOf(
  t: Test,
  hostile: HostileProvider,
  clock: HostileFixture['clock'],
  changes: Partial<ProviderSettings> = {},
): HostileFixture {
  const provider = open(t, hostile.issuer, changes, clock)
  const { lines } = provider
  const faultOf = async (work: Promise<unknown>): Promise<unknown> => {
    const fault = await work.then(
      () => null,
      error => error,
    )
    const said = textOf(fault)
    const secrets = [CLIENT.client_secret, ...hostile.secrets].filter(secret => secret !== '')
    expectSecrecy([said, ...lines], Object.fromEntries(secrets.entries()))
    return fault
  }
  const signIn: HostileFixture['signIn'] = async (wanted = [], changes = {}) => {
    const request = newRequest()
    hostile.secrets.push(request.verifier)
    const url = await provider.authorizationUrl(request, REDIRECT_URI)
    return provider.prove(hostile.authorize(url, changes), request, REDIRECT_URI, wanted)
  }
  return {
    hostile,
    provider,
    clock,
    lines,
    signIn,
    async refuses(expected, work = signIn()) {
      const fault = (await faultOf(work)) as ProviderRefusal
      t.type(fault, ProviderRefusal, inspect(fault))
      t.equal(fault?.fault, expected)
      return fault
    },
    async isUnavailable(work = signIn()) {
      const fault = await faultOf(work)
      t.type(fault, Unavailable, inspect(fault))
      return textOf(fault)
    },
  }
}
