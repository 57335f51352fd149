// Runs a test, or another program of this folder, as it was compiled by .build/tests.mjs; compiles first when a file is
// newer. Without loader hooks: what they cost, tsx's or those by which `tap` traces the files of each process (for
// coverage and `--changed`, which we do not use), is more than a second of CPU per test file and per process it starts.
const hooks = require('node:async_hooks')
const { execFileSync } = require('node:child_process')
const { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { Module, syncBuiltinESMExports } = require('node:module')
const { dirname, join, relative, sep } = require('node:path')
const { pathToFileURL } = require('node:url')
const { isMainThread } = require('node:worker_threads')

const ROOT = dirname(__dirname)
const COMPILED = join(ROOT, '.compiled')
const LOCK = join(COMPILED, 'lock')
/** What is compiled. npm writes the last of them when it has changed a package. */
const INPUTS = ['src', 'test', '.build', 'tsconfig.json', 'node_modules/.package-lock.json']
/** Milliseconds: a process that has the number of a holder of the lock from before this is another one. */
const LOCK_EXPIRES = 3_600_000

function compilationBegan() {
  try {
    return Date.parse(readFileSync(join(COMPILED, 'began'), 'utf8'))
  } catch {
    return 0
  }
}

/** A folder's own time changes with the names in it. */
function isNewer(time, path) {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return false
  if (stats.mtimeMs >= time) return true
  return stats.isDirectory() && readdirSync(path).some(name => isNewer(time, join(path, name)))
}

const isStale = () => {
  const began = compilationBegan()
  return INPUTS.some(name => isNewer(began, join(ROOT, name)))
}

/** The lock names its holder. */
function takeLock() {
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' })
    return true
  } catch (fault) {
    if (fault.code === 'EEXIST') return false
    throw fault
  }
}

/** Whether the holder was killed: however long it takes on a busy machine, another compilation would spoil its own. */
function isLockAbandoned() {
  try {
    if (Date.now() - statSync(LOCK).mtimeMs > LOCK_EXPIRES) return true
    process.kill(Number(readFileSync(LOCK, 'utf8')), 0)
    return false
  } catch (fault) {
    return fault.code === 'ESRCH'
  }
}

/** Two test files that start at once compile once. */
function compile() {
  mkdirSync(COMPILED, { recursive: true })
  while (!takeLock()) {
    if (isLockAbandoned()) rmSync(LOCK, { recursive: true, force: true })
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
  }
  try {
    if (isStale()) execFileSync(process.execPath, [join(ROOT, '.build/tests.mjs')], { stdio: ['ignore', 2, 2] })
  } finally {
    rmSync(LOCK)
  }
}

function compiledPathOf(file) {
  const path = relative(__dirname, file)
  return path.startsWith('..') || !path.endsWith('.ts') ? file : join(COMPILED, 'test', `${path.slice(0, -3)}.js`)
}

// tap adds its hooks here for the processes that this one starts.
const options = process.env.NODE_OPTIONS?.replace(/"?--import=[^"\s]*@tapjs[^"\s]*"?/, '').trim()
if (options) process.env.NODE_OPTIONS = options
else delete process.env.NODE_OPTIONS

// tap follows every promise with an async hook, to name the test that left an error behind. That costs a quarter of the CPU of
// tests with many requests. Without it such an error ends the process, and the file fails.
hooks.createHook = () => {
  const unused = { enable: () => unused, disable: () => unused }
  return unused
}
syncBuiltinESMExports()

// Node lets a preloaded script replace this, and starts a process and a thread by it. Not calling the original leaves out
// the `--import` of tap's hooks.
Module.runMain = (file = process.argv[1]) => {
  if (isMainThread && file.startsWith(__dirname + sep) && isStale()) compile()
  let loaded = false
  // As Node does for a module that is still waiting when nothing is left to wait for.
  process.once('exit', code => {
    if (!loaded && code === 0) process.exitCode = 13
  })
  import(pathToFileURL(compiledPathOf(file)).href).then(() => {
    loaded = true
  })
}
