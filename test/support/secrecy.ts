/* What must not stand in anything that a gateway logs or prints, whatever a test does to it. */

/** Secrets that are known by their form. A token is as good as its signature; what is encrypted is digits and letters. */
const FORMS: Readonly<Record<string, RegExp>> = {
  'a token': /eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{20,}/,
  'a hash of a password': /\$2[aby]\$\d\d\$[./0-9A-Za-z]{53}/,
  'a key': /dg[bc]_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}/,
  'an encrypted password': /(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{194}/i,
}

/** Throws when one of these forms, or of the secrets given by what they are, stands in what was said. */
export function expectSecrecy(said: readonly string[], secrets: Readonly<Record<string, string>> = {}): void {
  for (const line of said) {
    const form = Object.keys(FORMS).find(name => FORMS[name]!.test(line))
    const known = Object.keys(secrets).find(name => line.includes(secrets[name]!))
    if (form !== undefined || known !== undefined) throw new Error(`${form ?? known} was told: ${line.slice(0, 2000)}`)
  }
}
