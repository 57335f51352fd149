import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import t from 'tap'
import { stringify } from 'yaml'
import { run, shippedFolder } from '../support/command-line.ts'

/* A name that controls the terminal of whoever lists the accounts, or shows them as others than they are. */

t.test('no character of an account controls the terminal', async t => {
  const folder = shippedFolder(t)
  const evil = '\u001b]0;title\u0007\u001b[2J\u009b31m\u202eNIMDA\u2066\r\n'
  const account = {
    id: 'u7',
    username: 'jane\u202enimda',
    password: bcrypt.hashSync('correct horse', 4),
    nickname: evil,
    roles: [evil],
    permissions: [evil],
  }
  appendFileSync(join(folder, 'config/accounts.yaml'), stringify({ accounts: [account] }))
  for (const words of [['list'], ['show', account.username]]) {
    const { code, output } = await run(folder, ['account', ...words])
    t.equal(code, 0)
    t.match(output, /u7/)
    t.notMatch(output, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
    t.match(output, String.raw`\u001b[2J\u009b31m\u202eNIMDA`, 'it is shown, as escapes')
  }
})
