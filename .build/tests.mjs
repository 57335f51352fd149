// Compiles what tests run: the sources to `dist/` as `npm run build` does, and the tests to `.compiled/test/`. Types are
// not checked here (`npm run types` does), so this takes some seconds.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const root = dirname(import.meta.dirname)
const dist = join(root, 'dist')
const compiled = join(root, '.compiled')
const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')

const node = (...words) => execFileSync(process.execPath, words, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })

mkdirSync(compiled, { recursive: true })
// What changes from here on is newer than this run; see test/loader.cjs.
const began = new Date().toISOString()
rmSync(join(compiled, 'test'), { recursive: true, force: true })
node(compiler, '--noCheck')
// What was not written now belongs to a source that was removed; a test must not find it.
for (const file of readdirSync(dist, { recursive: true })) {
  const path = join(dist, file)
  if (/\.(?:js|d\.ts|map)$/.test(file) && statSync(path).mtimeMs < Date.parse(began)) rmSync(path)
}
node(join(root, '.build/pages.mjs'))
node(join(root, '.build/bundle.mjs'))
const emit = ['--noEmit', 'false', '--outDir', compiled, '--declaration', 'false']
node(compiler, '--project', join(root, 'test/compiled.json'), '--noCheck', '--noResolve', ...emit)
node(join(root, '.build/joined.mjs'))
writeFileSync(join(compiled, 'began'), began)
