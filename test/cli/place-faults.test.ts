import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { generateSecret } from '../../src/settings/secrets.ts'
import { generateSm2PrivateKey } from '../../src/settings/sm2-key.ts'
import { run, shippedFolder } from '../support/command-line.ts'
import { limitFiles, withoutFullDisk } from '../support/full-disk.ts'
import { isReadableByNobody, readOnly } from '../support/read-only.ts'
import { ROOT } from '../support/root.ts'

/* Commands that cannot write where they must: a full disk, the folder of another user. */

async function withAccounts(t: Test): Promise<{ folder: string; file: string; text(): string }> {
  const folder = shippedFolder(t)
  const file = join(folder, 'config/accounts.yaml')
  await run(folder, ['account', 'add', 'jane', '--nickname', 'x'.repeat(120), '--role', 'operator'])
  return { folder, file, text: () => readFileSync(file, 'utf8') }
}

t.test('a full disk is named with the file, and takes nothing of it', { skip: withoutFullDisk }, async t => {
  const { folder, file, text } = await withAccounts(t)
  const [before, names] = [text(), readdirSync(join(folder, 'config'))]
  t.teardown(() => limitFiles('unlimited'))
  const full = 'cannot be written (EFBIG): files of this process are limited in size; raise `ulimit -f`\n'
  for (const [bytes, place] of [
    [before.length, file],
    [0, `${file}.lock`],
  ] as const) {
    limitFiles(bytes)
    const { code, errors } = await run(folder, ['account', 'add', 'bob'])
    limitFiles('unlimited')
    t.same({ code, errors }, { code: 1, errors: `dualgate: ${place}: ${full}` })
    t.equal(text(), before)
    t.same(readdirSync(join(folder, 'config')), names)
  }
})

t.test('what belongs to another user is named with what to do', async t => {
  const folder = shippedFolder(t)
  mkdirSync(join(folder, 'data'))
  const remedy = '(?:belongs to uid \\d+, and this is uid \\d+; run this as its owner|change the permissions of)'
  for (const [words, place] of [
    [['account', 'add', 'bob'], 'accounts.yaml.lock'],
    [['init', 'new'], 'new\\S*'],
    [['start'], 'new/jwt.secret'],
  ] as const) {
    // It reads the shipped configuration before it writes one.
    if (words[0] === 'init' && !isReadableByNobody(join(ROOT, 'config/gateway.yaml'))) continue
    const giveBack = readOnly(folder)
    const environment = { ACCOUNTS__PATH: 'accounts.yaml', DATA: 'new' }
    const { code, errors } = await run(folder, [...words], { environment }).finally(giveBack)
    t.equal(code, 1, words.join(' '))
    t.match(errors, new RegExp(`${join(folder, place)}: this user has no permission \\(EACCES\\): .*${remedy}`))
  }
})

t.test('a file where a folder must be is named with what to do', async t => {
  const folder = shippedFolder(t)
  const file = join(folder, 'config/gateway.yaml')
  for (const [data, code] of [
    ['config/gateway.yaml', 'EEXIST'],
    ['config/gateway.yaml/data', 'ENOTDIR'],
  ] as const) {
    const secrets = {
      JWT__SECRET_KEY: generateSecret(),
      INTERNAL__SECRET: generateSecret(),
      LOGIN__SM2__PRIVATE_KEY: generateSm2PrivateKey(),
    }
    for (const environment of [{ DATA: data }, { DATA: data, ...secrets }]) {
      const { code: exit, errors } = await run(folder, ['start'], { environment })
      t.equal(exit, 1)
      t.ok(errors.includes(`(${code}): ${file} is not a folder; name another place, or move this file`), errors)
    }
  }
})
