// Loads a module by its name from the files into which .build/joined.mjs joins them.
const { readFileSync, renameSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { dirname, join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { Script } = require('node:vm')

const ROOT = dirname(__dirname)
const pathOf = name => join(ROOT, name)
const urlOf = name => pathToFileURL(pathOf(name)).href

const read = path => {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/** One of the files, loaded when the first of its modules is. Without what V8 compiled of it before, it is slower. */
function createJoined(file) {
  const cache = `${file}-${process.version}-${process.arch}.cache`
  let script
  let modules
  return {
    load(name) {
      if (modules === undefined) {
        const cachedData = read(cache)
        script = new Script(readFileSync(file, 'latin1'), {
          filename: file,
          ...(cachedData !== undefined && { cachedData }),
        })
        modules = {}
        script.runInThisContext()(modules, createRequire(file), pathOf, urlOf)
      }
      return modules[name]()
    },
    /** Keeps what V8 has compiled of it for the processes that start later. */
    keepCompiled() {
      const written = `${cache}.${process.pid}`
      writeFileSync(written, script.createCachedData())
      renameSync(written, cache)
    },
  }
}

const tap = createJoined(pathOf('.compiled/node_modules/@tapjs/joined.cjs'))
const others = createJoined(pathOf('.compiled/joined.cjs'))

module.exports = name => (name === 'tap' ? tap : others).load(name)
module.exports.keepCompiled = () => {
  tap.keepCompiled()
  others.keepCompiled()
}
