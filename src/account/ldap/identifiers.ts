/* Identifiers that directories keep as bytes, and their usual texts. */

const GUID = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})$/

/** `objectGUID` as text: the first three groups are little-endian. `null` for other bytes. */
export function guidText(bytes: Buffer): string | null {
  if (bytes.length !== 16) return null
  const hex = Buffer.concat([
    Buffer.from(bytes.subarray(0, 4)).reverse(),
    Buffer.from(bytes.subarray(4, 6)).reverse(),
    Buffer.from(bytes.subarray(6, 8)).reverse(),
    bytes.subarray(8),
  ]).toString('hex')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** `null` for a text that is no GUID in its usual form. */
export function guidBytes(text: string): Buffer | null {
  const [, ...groups] = GUID.exec(text) ?? []
  if (groups.length === 0) return null
  const [a, b, c, d, e] = groups.map(group => Buffer.from(group, 'hex'))
  return Buffer.concat([a!.reverse(), b!.reverse(), c!.reverse(), d!, e!])
}

/** `objectSid` as text, `S-1-5-21-…-1104` ([MS-DTYP] 2.4.2). `null` for other bytes. */
export function sidText(bytes: Buffer): string | null {
  const count = bytes[1] ?? 0
  if (bytes.length !== 8 + 4 * count || bytes[0] !== 1 || count === 0) return null
  const parts = Array.from({ length: count }, (_, index) => bytes.readUInt32LE(8 + 4 * index))
  return ['S-1', bytes.readUIntBE(2, 6), ...parts].join('-')
}

/** `null` for a text that is no such identifier. */
export function sidBytes(text: string): Buffer | null {
  if (!/^S-1-\d{1,14}(?:-\d{1,10}){1,15}$/.test(text)) return null
  const [authority = 0, ...parts] = text.split('-').slice(2).map(Number)
  if (parts.some(part => part > 0xffff_ffff)) return null
  const bytes = Buffer.alloc(8 + 4 * parts.length)
  bytes.writeUInt8(1, 0)
  bytes.writeUInt8(parts.length, 1)
  bytes.writeUIntBE(authority, 2, 6)
  for (const [index, part] of parts.entries()) bytes.writeUInt32LE(part, 8 + 4 * index)
  return bytes
}

/** The identifier with another last part: that of a group of the same domain. `null` for other bytes. */
export function sidBeside(bytes: Buffer, last: number): Buffer | null {
  if (sidText(bytes) === null || !Number.isInteger(last) || last < 0 || last > 0xffff_ffff) return null
  const other = Buffer.from(bytes)
  other.writeUInt32LE(last, other.length - 4)
  return other
}
