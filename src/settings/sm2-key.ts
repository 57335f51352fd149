import { randomBytes } from 'node:crypto'

/** Order of the curve's group (GB/T 32918.5). A private key is a number from 1 to n - 2. */
const ORDER = 0xfffffffeffffffffffffffffffffffff7203df6b21c6052b53bbf40939d54123n

export function isSm2PrivateKey(hex: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(hex)) return false
  const number = BigInt(`0x${hex}`)
  return number >= 1n && number <= ORDER - 2n
}

/** A new private key: 64 lower-case hex digits. */
export function generateSm2PrivateKey(): string {
  for (;;) {
    const hex = randomBytes(32).toString('hex')
    if (isSm2PrivateKey(hex)) return hex
  }
}
