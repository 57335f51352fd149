import { publicKeyOf } from '../login/sm2/sm2.ts'
import { generateIdentityKey } from '../settings/identity-key.ts'
import { generateSecret } from '../settings/secrets.ts'
import { generateSm2PrivateKey } from '../settings/sm2-key.ts'
import type { Command } from './command.ts'
import { say, UsageError } from './terminal.ts'

export const keys: Command = {
  words: 'jwt|sm2|identity',
  summary: 'generate a secret or a key pair',
  help: `Prints a new secret and keeps it nowhere.

  jwt   a key for signing tokens (JWT__SECRET_KEY); as good for INTERNAL__SECRET
  sm2   a private key for the encryption of passwords (LOGIN__SM2__PRIVATE_KEY); its public key goes to standard error
  identity
        a private key for assertions, in PEM form, for the file of identity.key_file

Example, for a file .env in the working directory:
  key=$(dualgate keys jwt) && echo "JWT__SECRET_KEY=$key" >> .env`,
  options: {},
  async run({ words }, { output, errors }) {
    const [name = '', ...more] = words
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name as keyof typeof KINDS] : undefined
    if (more.length > 0 || kind === undefined) throw new UsageError('the kind of key is missing: jwt, sm2 or identity')
    const key = kind()
    say(output, key)
    if (name === 'sm2') say(errors, `public key: ${await publicKeyOf(key)}`)
    return 0
  },
}

const KINDS = { jwt: generateSecret, sm2: generateSm2PrivateKey, identity: generateIdentityKey }
