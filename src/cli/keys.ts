import { publicKeyOf } from '../login/sm2/sm2.ts'
import { generateSecret } from '../settings/secrets.ts'
import { generateSm2PrivateKey } from '../settings/sm2-key.ts'
import type { Command } from './command.ts'
import { say, UsageError } from './terminal.ts'

export const keys: Command = {
  words: 'jwt|sm2',
  summary: 'generate a secret or a key pair',
  help: `Prints a new secret and keeps it nowhere.

  jwt   a key for signing tokens (JWT__SECRET_KEY); as good for INTERNAL__SECRET
  sm2   a private key for the encryption of passwords (LOGIN__SM2__PRIVATE_KEY); its public key goes to standard error

Example, for a file .env in the working directory:
  key=$(dualgate keys jwt) && echo "JWT__SECRET_KEY=$key" >> .env`,
  options: {},
  async run({ words }, { output, errors }) {
    const [kind, ...more] = words
    if (more.length > 0 || (kind !== 'jwt' && kind !== 'sm2'))
      throw new UsageError('the kind of key is missing: jwt or sm2')
    const key = kind === 'jwt' ? generateSecret() : generateSm2PrivateKey()
    say(output, key)
    if (kind === 'sm2') say(errors, `public key: ${await publicKeyOf(key)}`)
    return 0
  },
}
