import { createPasswords } from '../account/password.ts'
import { createPasswordPolicy } from '../account/password-policy.ts'
import type { Accounts } from '../account/source.ts'
import { sealingKey } from '../second-factor/sealed.ts'
import { bySide, LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import { createEndsByChanges } from './ends-by-changes.ts'
import { createHelpers } from './helpers/helpers.ts'
import { createLoginOfSide, type LoginOfSide } from './login-of-side.ts'
import type { OpenLoginOptions } from './login-options.ts'
import type { Recheck } from './recheck.ts'
import { createSm2, type Sm2 } from './sm2/sm2.ts'

/**
 * The logins that the gateway itself serves, with their account sources; `null` for a side whose login is served
 * elsewhere.
 */
export interface Logins {
  readonly logins: Readonly<Record<LoginType, LoginOfSide['login']>>
  readonly providerLogins: Readonly<Record<LoginType, LoginOfSide['providerLogin']>>
  readonly ownAccounts: Readonly<Record<LoginType, LoginOfSide['ownAccount']>>
  readonly ownSecondFactors: Readonly<Record<LoginType, LoginOfSide['ownSecondFactor']>>
  readonly proofs: Readonly<Record<LoginType, LoginOfSide['proof']>>
  readonly sources: Readonly<Record<LoginType, Accounts | null>>
  /** The password that a client encrypted with the public key of the logins; `null` if it did not. */
  readonly decrypt: Sm2['decrypt']
  /** Called with each session of a side that is used; `null` where no source is asked again. */
  readonly rechecks: Readonly<Record<LoginType, Recheck | null>>
  close(): Promise<void>
}

/** The logins of both sides share their helper processes. They are closed with the logins, unless they were given. */
export async function openLogin(options: OpenLoginOptions): Promise<Logins> {
  const { settings, store, clock, log, openAccounts } = options
  const helpers = options.helpers ?? createHelpers(log)
  const sm2 = await createSm2(settings.sm2.private_key, helpers.decrypt)
  const passwords = createPasswords(helpers.compare)
  const policy = createPasswordPolicy(options.passwords)
  const key = sealingKey(settings.second_factor.key, settings.sm2.private_key)
  const sources = bySide((): Accounts | null => null)
  for (const type of LOGIN_TYPES)
    sources[type] = await openAccounts({ type, passwords, memory: store.attempts, factors: store.factors, clock, log })
  const open = (type: LoginType) => createLoginOfSide(options, type, { helpers, sm2, policy, key }, sources[type])
  const opened = { BUSINESS: await open('BUSINESS'), CONSUMER: await open('CONSUMER') }
  const changes = createEndsByChanges(options, sources)
  const providerLogins = bySide(type => opened[type].providerLogin)

  return {
    logins: bySide(type => opened[type].login),
    providerLogins,
    ownAccounts: bySide(type => opened[type].ownAccount),
    sources,
    decrypt: sm2.decrypt,
    ownSecondFactors: bySide(type => opened[type].ownSecondFactor),
    proofs: bySide(type => opened[type].proof),
    rechecks: changes.rechecks,
    async close() {
      if (options.helpers === undefined) await helpers.close()
      await changes.close()
      await Promise.all([...Object.values(sources), ...Object.values(providerLogins)].map(part => part?.close()))
    },
  }
}
