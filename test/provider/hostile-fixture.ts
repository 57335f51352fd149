import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { Unavailable } from '../../src/base/refusal.ts'
import { ProviderRefusal } from '../../src/provider/refusal.ts'
import type { ProviderSettings } from '../../src/settings/schema/providers.ts'
import { ACCESS_TOKEN, type HostileProvider, startHostileProvider } from '../support/hostile-provider.ts'
import { expectSecrecy } from '../support/secrecy.ts'
import { CLIENT, newRequest, open, REDIRECT_URI } from './provider-fixture.ts'

const CODE = 'the-code-of-the-callback'

/** A hostile provider, and the gateway's side of it, whose clock is the provider's. */
export async function startHostile(t: Test, changes: Partial<ProviderSettings> = {}) {
  const hostile = await startHostileProvider(CLIENT.client_id)
  t.teardown(() => hostile.stop())
  const provider = open(t, hostile.issuer, changes, { now: () => hostile.now })
  const request = newRequest()
  hostile.claims = { nonce: request.nonce }
  return {
    hostile,
    provider,
    request,
    callback: (more: Record<string, string> = {}) => new URLSearchParams({ code: CODE, state: request.state, ...more }),
    prove: (callback = new URLSearchParams({ code: CODE, state: request.state }), wanted: readonly string[] = []) =>
      provider.prove(callback, request, REDIRECT_URI, wanted),
  }
}

export type Hostile = Awaited<ReturnType<typeof startHostile>>

/**
 * The word of a refusal, `unavailable` for an answer that did not arrive, and `accepted`. Nothing secret stands in what it says,
 * nor in the log.
 */
export async function outcomeOf(work: Promise<unknown>, { provider, request }: Hostile): Promise<string> {
  const fault = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  const secrets = { ...request, code: CODE, secret: CLIENT.client_secret, token: ACCESS_TOKEN }
  expectSecrecy([...provider.lines, ...saidBy(fault)], secrets)
  if (fault === null) return 'accepted'
  if (fault instanceof ProviderRefusal) return fault.fault
  if (fault instanceof Unavailable) return 'unavailable'
  throw fault
}

function saidBy(fault: unknown): string[] {
  if (!(fault instanceof Error)) return fault === undefined || fault === null ? [] : [String(fault)]
  const { message, stack = '', cause } = fault
  return [message, stack, (fault as ProviderRefusal).detail ?? '', ...saidBy(cause)]
}

/** The texts of a fault and its causes, for operators. */
export const textOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    fault => saidBy(fault).join('\n'),
  )

/** Changes one thing of the provider, and answers how a sign-in ends. */
export async function outcomeWith(
  t: Test,
  change: (hostile: HostileProvider, all: Hostile) => void | Promise<void>,
  settings: Partial<ProviderSettings> = {},
): Promise<string> {
  const all = await startHostile(t, settings)
  await change(all.hostile, all)
  return outcomeOf(all.prove(), all)
}

export const halfHash = (token: string): string =>
  createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url')
