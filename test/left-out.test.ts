import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ROOT } from './support/root.ts'

/* What `npm test` adds to tap. */

const RELEASE = 'test/release/**/*.test.ts'

/** Runs it in a folder whose tap prints these lines, and ends with the code. */
function run(t: Test, { lines, code }: { lines: string[]; code: number }, ...words: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-left-out-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['.build', 'node_modules/.bin']) mkdirSync(join(folder, name), { recursive: true })
  cpSync(join(ROOT, '.build/test.mjs'), join(folder, '.build/test.mjs'))
  const script = [
    '#!/bin/sh',
    // The first argument is where to write.
    'folder=$(echo "$1" | cut -d = -f 2); shift',
    'for word in "$@"; do echo "given: $word"; done',
    'mkdir "$folder/test"; cat > "$folder/test/a.test.ts.tap" <<END',
    ...lines,
    'END',
    `exit ${code}`,
  ]
  writeFileSync(join(folder, 'node_modules/.bin/tap'), `${script.join('\n')}\n`, { mode: 0o755 })
  const { status, stdout } = spawnSync(process.execPath, [join(folder, '.build/test.mjs'), ...words], {
    encoding: 'utf8',
  })
  return { status, stdout }
}

t.test('`npm test` names at its end, in one list, what was left out for want of a server', async t => {
  const lines = [
    'ok 1 - test/a.test.ts {',
    '    ok 1 - a first # SKIP LEFT OUT: no redis-server on PATH',
    '    ok 2 - a second # SKIP another reason',
    '    # LEFT OUT: no nginx on PATH',
    '}',
    'ok 2 - a third # SKIP LEFT OUT: no redis-server on PATH',
  ]
  const { status, stdout } = run(t, { lines, code: 0 })
  t.equal(status, 0)
  t.match(stdout, /== LEFT OUT .*:\n +1 × no nginx on PATH\n +2 × no redis-server on PATH\n$/)
})

t.test('`npm test` passes its arguments to tap, and ends with the code of tap', async t => {
  const { status, stdout } = run(t, { lines: ['ok 1 - a test'], code: 3 }, '--jobs=1', 'test/gate/path.test.ts')
  t.equal(status, 3)
  const given = [`--exclude=${RELEASE}`, '--jobs=1', 'test/gate/path.test.ts']
  t.equal(stdout, given.map(word => `given: ${word}\n`).join(''), 'and names nothing where nothing was left out')
})

t.test('`npm run test:release` runs the tests of the release, and `npm test` all others', async t => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  t.equal(scripts.test, 'node .build/test.mjs')
  t.equal(scripts['test:release'], 'node .build/test.mjs --release')
  const { stdout } = run(t, { lines: ['ok 1 - a test'], code: 0 }, '--release', 'list')
  t.equal(stdout, `given: --include=${RELEASE}\ngiven: list\n`)
})

t.test('.ci/run repeats no test, and accepts none that was left out', async t => {
  const text = readFileSync(join(ROOT, '.ci/run'), 'utf8')
  for (const command of ['npm test', 'npm run test:release']) t.equal(text.split(`${command}\n`).length, 2, command)
  t.match(text, /grep -aq 'LEFT OUT'/)
})
