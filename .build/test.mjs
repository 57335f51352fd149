// `npm test`: runs tap with the arguments given, and names at the end what was left out for want of a server or tool. A test
// that is left out is skipped with a reason that begins with LEFT OUT. `npm run test:release` does the same with the tests of
// what is released, which build the package and the image, start the examples and check the API documents: after a change there,
// and in `.ci/run`. `npm run test:without-servers` runs those that know a server, as on a machine where none is installed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)
const folder = mkdtempSync(join(tmpdir(), 'dualgate-test-'))

const RELEASE = 'test/release/**/*.test.ts'
const [mode] = process.argv.slice(2)
const isBare = mode === '--without-servers'
const selection = mode === '--release' ? `--include=${RELEASE}` : `--exclude=${RELEASE}`
const further = process.argv.slice(isBare || mode === '--release' ? 3 : 2)
const words = [`--output-dir=${folder}`, selection, ...further, ...(isBare ? filesThatKnowServers() : [])]
const env = { ...process.env, ...(isBare && { WITHOUT_SERVERS: '1' }) }
const tap = spawn(join(root, 'node_modules/.bin/tap'), words, { cwd: root, stdio: 'inherit', env })
// The signal of a terminal reaches tap too, which ends and says what it has run.
process.on('SIGINT', () => undefined)
const [code, signal] = await once(tap, 'exit')
const reasons = reasonsIn(folder)
rmSync(folder, { recursive: true, force: true })
if (reasons.size > 0) {
  process.stdout.write('\n== LEFT OUT for want of a server or tool (.github/CONTRIBUTING.md names them all):\n')
  for (const reason of [...reasons.keys()].sort())
    process.stdout.write(`  ${String(reasons.get(reason)).padStart(4)} × ${reason}\n`)
}
if (signal !== null) process.kill(process.pid, signal)
process.exitCode = code ?? 1

/** Those that say what they need, or start a store for each of their tests. */
function filesThatKnowServers() {
  return readdirSync(join(root, 'test'), { recursive: true })
    .filter(name => name.endsWith('.test.ts') && !name.startsWith('release'))
    .map(name => join('test', name))
    .filter(file => /\bwithout[A-Z]|LEFT OUT|withEvery|redis/.test(readFileSync(join(root, file), 'utf8')))
}

/** How often each reason is given in the files of a folder. */
function reasonsIn(folder) {
  const found = new Map()
  for (const name of readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.tap'))) {
    for (const [, reason] of readFileSync(join(folder, name), 'utf8').matchAll(/\bLEFT OUT: ([^)\n]+)/g)) {
      found.set(reason.trim(), (found.get(reason.trim()) ?? 0) + 1)
    }
  }
  return found
}
