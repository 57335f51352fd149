import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { publicKeyOf } from '../../src/login/sm2/sm2.ts'
import { faultOfIdentityKey } from '../../src/settings/identity-key.ts'
import { faultOfSigningKey } from '../../src/settings/secrets.ts'
import { launch, run, shippedFolder } from '../support/command-line.ts'
import { ROOT } from '../support/root.ts'

const COMMANDS = ['init', 'start', 'check', 'explain', 'account', 'keys']

t.test('--help names every command, and each command has its own help', async t => {
  const folder = shippedFolder(t)
  const { code, output } = await run(folder, ['--help'])
  t.equal(code, 0)
  for (const command of COMMANDS) {
    t.match(output, new RegExp(`^ {2}${command} `, 'm'))
    const help = await run(folder, [command, '--help'])
    t.equal(help.code, 0)
    t.match(help.output, new RegExp(`^dualgate ${command}: .*\n\nUsage: dualgate ${command}`))
  }
})

t.test('--version is the version of the package', async t => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  t.match(await run(shippedFolder(t), ['--version']), { code: 0, output: `${version}\n` })
})

const MISTAKES: [words: string[], message: RegExp][] = [
  [['strat'], /unknown command strat; did you mean start\? Commands: init, start, reload, /],
  [['toString'], /unknown command toString; commands: init, start, reload, /],
  [['init', 'a', 'b'], /init takes one folder, but also got b/],
  [['check', '--confg', 'x'], /dualgate check: Unknown option '--confg'/],
  [['check', 'now'], /check takes no arguments, but got now/],
  [['start', 'now'], /start takes no arguments/],
  [['explain', 'GET'], /explain takes a method and a path/],
  [['account'], /a subcommand is missing: add, passwd/],
  [['account', 'constructor', 'x'], /a subcommand is missing: add, passwd/],
  [['account', 'add'], /account add takes one name/],
  [['account', 'list', 'x'], /account list takes no name/],
  [['account', 'passwd', 'x', '--role', 'r'], /account passwd takes no --role/],
  [['keys', 'rsa'], /the kind of key is missing: jwt, sm2 or identity/],
]

for (const [words, message] of MISTAKES) {
  t.test(`a usage error exits with 2 and says why: ${words.join(' ')}`, async t => {
    const { code, output, errors } = await run(shippedFolder(t), words)
    t.equal(code, 2)
    t.equal(output, '')
    t.match(errors, message)
    t.match(errors, /^Try: dualgate .*--help$/m)
  })
}

t.test('check prints ok and the sources of secrets, and changes nothing', async t => {
  const folder = shippedFolder(t)
  const { code, output } = await run(folder, ['check'], { environment: { INTERNAL__SECRET: 'kJ3vQ8zR2xW7bN5m' } })
  t.equal(code, 0)
  t.match(output, /^ok\n/)
  t.match(output, /jwt\.secret_key +kept in data\/jwt\.secret\n/)
  t.match(output, /internal\.secret +from environment INTERNAL__SECRET\n/)
  t.match(output, /upstream +echo: \/api\/v1 to builtin:echo\n/)
  t.notMatch(output, /sixteen/)
  t.same(readdirSync(folder), ['config'])
})

t.test('check prints every fault and exits with 1', async t => {
  const folder = shippedFolder(t)
  writeFileSync(join(folder, 'bad.yaml'), 'listen: { prot: 1 }\nlocale: fr\nupstreams: []\n')
  const { code, output, errors } = await run(folder, ['check', '--config', 'bad.yaml'])
  t.equal(code, 1)
  t.equal(output, '')
  t.match(errors, /^bad\.yaml:1 listen\.prot: .*$/m)
  t.match(errors, /^bad\.yaml:2 locale: .*$/m)
  t.match(errors, /^2 faults in the configuration$/m)
})

t.test('beside a missing setting, check names the variable that was probably meant as it', async t => {
  const folder = shippedFolder(t)
  writeFileSync(join(folder, '.env'), 'STORE__KIND=redis\nSTORE_REDIS__URL=redis://localhost\n')
  const { code, errors } = await run(folder, ['check'])
  t.equal(code, 1)
  t.match(errors, /^warning: \.env STORE_REDIS__URL: .* as in STORE__REDIS__URL\./m)
  t.match(errors, /^1 fault in the configuration$/m)
})

t.test('keys prints secrets that the gateway accepts', async t => {
  const folder = shippedFolder(t)
  const jwt = await run(folder, ['keys', 'jwt'])
  t.equal(faultOfSigningKey(jwt.output.trim()), null)
  const sm2 = await run(folder, ['keys', 'sm2'])
  t.match(sm2.errors, await publicKeyOf(sm2.output.trim()))
  const identity = await run(folder, ['keys', 'identity'])
  t.equal(faultOfIdentityKey(identity.output), null)
  t.same(readdirSync(folder), ['config'])
})

t.test('the exit code of the process is that of the command', async t => {
  const folder = shippedFolder(t)
  const codes: unknown[] = []
  for (const words of [['check'], ['check', '--config', 'nope.yaml'], ['nope']]) {
    const child = launch(folder, words)
    codes.push((await once(child, 'exit'))[0])
  }
  t.same(codes, [0, 1, 2])
})
