import { codeAt, wrongCodes } from '../second-factor/factor-fixture.ts'
import type { ModelAccount, ModelTicket } from './login-model.ts'
import { HOSTILE, type Move } from './login-moves.ts'

/** The codes that users and guessers enter in one sequence. */
export class Codes {
  /** By account: those that were accepted, or lost with their factor. */
  readonly #used = new Map<string, string[]>()

  usedOf({ id }: ModelAccount): string[] {
    const used = this.#used.get(id) ?? []
    this.#used.set(id, used)
    return used
  }

  /** A code of a kind for an account; `ticket` may have shown the secret of a new factor. */
  pick(
    account: ModelAccount,
    ticket: ModelTicket | null,
    { kind, pick }: Pick<Move, 'kind' | 'pick'>,
    users: readonly ModelAccount[],
    now: number,
  ): string {
    const secret = ticket?.secret ?? account.factor?.secret ?? null
    const used = this.usedOf(account)
    const codes = account.factor?.recoveryCodes ?? []
    if (kind === 'hostile') return HOSTILE[pick % HOSTILE.length]!
    if (kind === 'recovery' && codes.length > 0) return codes[pick % codes.length]!
    if (kind === 'used recovery') return used.findLast(code => code.includes('-')) ?? 'AAAA-BBBB-CCCC-DDDD'
    if (kind === 'used') return used.at(-1) ?? '000000'
    if (kind === 'foreign') return foreignCode(account, pick, users, now)
    if (secret === null) return '123456'
    if (kind === 'wrong') return wrongCodes(secret, now, 20)[pick % 20]!
    return codeAt(secret, now, { next: 1, previous: -1, old: -2 }[kind as string] ?? 0)
  }
}

/** Of another user's factor. */
function foreignCode(account: ModelAccount, pick: number, users: readonly ModelAccount[], now: number): string {
  const factor = users.find(user => user !== account && user.factor !== null)?.factor
  if (factor == null) return '123456'
  return (pick % 2 === 0 ? factor.recoveryCodes[0] : undefined) ?? codeAt(factor.secret, now)
}
