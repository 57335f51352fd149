import { randomInt, randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/refusal.ts'
import type { LoginType } from '../../session/sides.ts'
import type { AttemptStore, CaptchaStore } from '../../store/store.ts'
import { createOutstandingCheck } from '../protection/outstanding-limit.ts'
import { type Challenge, createChallenge, isChallenge, isProof } from './proof.ts'

/** A captcha as clients expect it. */
export interface IssuedCaptcha {
  captcha_id: string
  /** The picture as a data URL. */
  captcha_base64: string
}

/** A challenge instead of a picture (`login.captcha.alternative`). */
export interface IssuedChallenge extends Challenge {
  captcha_id: string
}

/** What a login demands of its client besides the password. */
export type CaptchaKind = 'picture' | 'proof-of-work'

export interface Captcha {
  /** Refuses with `BUSY` when too many are outstanding. */
  issue(address: string): Promise<IssuedCaptcha>
  /** The same for a challenge. Only where the settings allow it. */
  challenge(address: string): Promise<IssuedChallenge>
  /** Refuses a wrong answer. The first try consumes the captcha, right or wrong. */
  verify(id: string | undefined, value: string | undefined): Promise<void>
}

export interface CaptchaOptions {
  type: LoginType
  store: CaptchaStore
  attempts: Pick<AttemptStore, 'count'>
  /** Lifetime of a captcha in milliseconds. */
  ttl: number
  /** Number of characters. */
  length: number
  /** Whether a proof of work is accepted instead of the text of a picture. */
  alternative: 'off' | 'proof-of-work'
  /** Of a proof, in leading zero bits. */
  difficulty: number
  clock: Clock
  /** The picture of a text as a data URL. */
  draw(text: string): Promise<string>
}

/**
 * Upper case, without characters that look alike in upper or lower case: no 0 O, 1 I L, 2 Z, 5 S, 8 B, U V J, E F, K X,
 * M N.
 */
export const CHARACTERS = 'ACDFGHMPQRTUWXY34679'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

const isText = (answer: string, given: string): boolean => given.toLowerCase() === answer.toLowerCase()

/** The captcha of one side ("Login processing order", step 1). */
export function createCaptcha(options: CaptchaOptions): Captcha {
  const { type, store, attempts, ttl, clock } = options
  /** Challenges may be outstanding from before a reload with other settings. */
  const isAccepted = options.alternative === 'proof-of-work'
  const checkOutstanding = createOutstandingCheck({
    name: `captchas:${type}`,
    attempts,
    lifetime: ttl,
    outstanding: () => store.outstanding(type),
  })

  return {
    async issue(address) {
      await checkOutstanding(address)
      const text = Array.from({ length: options.length }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('')
      const captcha_base64 = await options.draw(text)
      const captcha_id = randomUUID()
      await store.put(type, captcha_id, text, clock.now() + ttl)
      return { captcha_id, captcha_base64 }
    },

    async challenge(address) {
      await checkOutstanding(address)
      const { kept, ...challenge } = createChallenge(options.difficulty)
      const captcha_id = randomUUID()
      await store.put(type, captcha_id, kept, clock.now() + ttl)
      return { captcha_id, ...challenge }
    },

    async verify(id = '', value = '') {
      // Chinese input methods may write letters and digits in full width.
      const given = value.normalize('NFKC').trim()
      if (id === '' || given === '') throw new Refusal('CAPTCHA_BLANK')
      // Any other text is not an id of ours and must not become part of a key.
      const answer = UUID.test(id) ? await store.take(type, id) : null
      if (answer === null) throw new Refusal('CAPTCHA_GONE')
      if (!(isChallenge(answer) ? isAccepted && isProof(answer, given) : isText(answer, given)))
        throw new Refusal('CAPTCHA_WRONG')
    },
  }
}
