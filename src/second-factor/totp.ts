import { Secret, TOTP } from 'otpauth'

/* Codes by RFC 6238 as every authenticator app knows them: SHA-1, six digits, steps of 30 seconds. */

const PERIOD = 30
const PARAMETERS = { algorithm: 'SHA1', digits: 6, period: PERIOD }

/** Steps before and after the present one whose codes are accepted, because clocks differ. */
const WINDOW = 1

/** RFC 4226, section 4, R6 recommends 160 bits. */
const SECRET_BYTES = 20

/** A new shared secret in Base32, as apps accept it. */
export const newSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

/** The `otpauth://` address from which an app adds the account. */
export const uriOf = (secret: string, issuer: string, username: string): string =>
  new TOTP({ ...PARAMETERS, secret, issuer, label: username }).toString()

/** The step, counted from 1970, whose code this is; `null` if it is not one of those accepted at `now`, in milliseconds. */
export function stepOf(code: string, secret: string, now: number): number | null {
  const totp = new TOTP({ ...PARAMETERS, secret })
  const steps = totp.validate({ token: code, timestamp: now, window: WINDOW })
  return steps === null ? null : totp.counter({ timestamp: now }) + steps
}
