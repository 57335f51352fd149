import type { Account, AccountUpdates, PreparedUpdate } from '../account/source.ts'
import { Refusal } from '../base/refusal.ts'
import { textsOf } from '../session/record.ts'
import { type Accepted, type CodesOptions, createCodes, type Proof } from './code-verification.ts'
import { hashesOf, newRecoveryCodes } from './recovery-codes.ts'
import { createSeal, nameOf, newName, type OpenFactor } from './sealed.ts'

export interface SecondFactorSettings {
  /**
   * off: no account needs a code. optional: those that have a second factor do. all, or these roles: these must have one, and
   * others may.
   */
  for: 'off' | 'optional' | 'all' | readonly string[]
  /** How apps name the gateway. */
  issuer: string
}

/** A second factor that waits for the proof that an app has it. */
export interface NewFactor {
  /** In Base32, for apps without a camera. */
  secret: string
  uri: string
  /** A data URL with a PNG. */
  qr: string
  /** To be kept until `confirm`; encrypted, so it reveals nothing without the key. */
  sealed: string
}

export interface NewRecoveryCodes {
  recoveryCodes: string[]
  /** Stores their hashes with the account. */
  update: PreparedUpdate
}

/**
 * The second factors of one side: codes by RFC 6238 and recovery codes. Everything here comes after the right password. Each
 * method that takes a code counts the attempt first and refuses a wrong or used one with `WRONG_CODE`, and while the step is
 * locked with `DISABLED`, as a locked password is. A factor that cannot be opened, because the key is another one, is logged
 * and refused with `FACTOR_UNREADABLE`; it never counts as none.
 */
export interface SecondFactors {
  /** Whether users can set one up here: the settings want it, and the source stores it. */
  readonly canSetUp: boolean
  /** Whether the account must have one. */
  isRequired(account: Account): boolean
  /** Whether the account has one, and its login needs a code. */
  isAsked(account: Account): boolean
  /** Accepts a code of the account's second factor, once. */
  verify(account: Account, code: string): Promise<Pick<Accepted, 'proof' | 'wrongCodes'>>
  /** A new factor for the account. It replaces what the account has when it is confirmed. */
  create(account: Account): Promise<NewFactor>
  /**
   * Accepts a code of a factor that `create` has made for this account, and prepares its storing. Refuses with `SETUP_GONE`
   * if the account has had another factor, or another password, since.
   */
  confirm(account: Account, sealed: string, code: string): Promise<NewRecoveryCodes>
  /** Accepts a code, and prepares new recovery codes in the place of the old ones. */
  renewRecoveryCodes(account: Account, code: string): Promise<NewRecoveryCodes>
  /** Accepts a code, and prepares the removal. Refuses with `FACTOR_REQUIRED` where the account must have one. */
  remove(account: Account, code: string): Promise<{ update: PreparedUpdate; proof: Proof }>
  /** How many recovery codes are left; `null` if the account has no second factor, or one that cannot be opened. */
  recoveryCodesLeft(account: Account): number | null
}

export interface SecondFactorsOptions extends Omit<CodesOptions, 'seal'> {
  settings: SecondFactorSettings
  /** Of 32 bytes (`sealingKey`). */
  key: Buffer
}

export function createSecondFactors(options: SecondFactorsOptions): SecondFactors {
  const { type, settings, accounts } = options
  const { updates } = accounts
  const seal = createSeal(type, options.key)
  const codes = createCodes({ ...options, seal })
  const canStore = updates?.can.has('second-factor') === true

  const storing = (): AccountUpdates => {
    if (updates === undefined || !canStore) throw new Error('the source of these accounts stores no second factor')
    return updates
  }

  function isRequired({ extra, leftOut }: Account): boolean {
    if (typeof settings.for === 'string') return settings.for === 'all'
    // Roles that are left out are unknown here, and may be among these.
    return leftOut?.columns.includes('roles') === true || textsOf(extra, 'roles').some(isIn(settings.for))
  }

  /** The same factor with new recovery codes. */
  function withNewCodes(account: Account, { name, secret }: OpenFactor): NewRecoveryCodes {
    const recoveryCodes = newRecoveryCodes()
    const sealed = seal.seal(account.id, { name, secret, codes: hashesOf(recoveryCodes) })
    return { recoveryCodes, update: storing().secondFactor(account, sealed) }
  }

  return {
    canSetUp: canStore && settings.for !== 'off',
    isRequired,
    isAsked: ({ secondFactor }) => settings.for !== 'off' && secondFactor !== undefined,
    verify: (account, code) => codes.accept(account, code),
    async create(account) {
      // Few logins set up a second factor, and none waits for these libraries before.
      const [{ newSecret, uriOf }, { qrCodeOf }] = await Promise.all([import('./totp.ts'), import('./qr.ts')])
      const secret = newSecret()
      const uri = uriOf(secret, settings.issuer, account.username)
      const { credentialVersion } = account
      const factor = { name: newName(), secret, codes: [], replaces: nameOf(account.secondFactor), credentialVersion }
      return { secret, uri, qr: qrCodeOf(uri), sealed: seal.seal(account.id, factor) }
    },
    async confirm(account, sealed, code) {
      const factor = seal.open(account.id, sealed)
      if (factor === null || !isStill(factor, account)) throw new Refusal('SETUP_GONE')
      await codes.acceptFirst(account, factor, code)
      return withNewCodes(account, factor)
    },
    async renewRecoveryCodes(account, code) {
      const { account: present } = await codes.accept(account, code)
      return withNewCodes(present, codes.open(present))
    },
    async remove(account, code) {
      if (isRequired(account)) throw new Refusal('FACTOR_REQUIRED')
      const { account: present, proof } = await codes.accept(account, code)
      return { update: storing().secondFactor(present, null), proof }
    },
    recoveryCodesLeft: ({ id, secondFactor }) =>
      secondFactor === undefined ? null : (seal.open(id, secondFactor)?.codes.length ?? null),
  }
}

/** Whether an account is as it was when the set-up of a factor began. */
const isStill = ({ replaces, credentialVersion }: OpenFactor, account: Account): boolean =>
  replaces === nameOf(account.secondFactor) && credentialVersion === account.credentialVersion

const isIn = (list: readonly string[]) => (text: string) => list.includes(text)
