/** The text in an `Authorization: Basic` (RFC 7617): an id, a colon and a password. `null` for a value of another form. */
export function readBasic(authorization: string): string | null {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(authorization)?.[1]
  return encoded === undefined ? null : Buffer.from(encoded, 'base64').toString()
}
