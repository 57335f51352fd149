// The first part of `npm test`: builds tap with the plugins that .taprc leaves. This takes seven seconds of CPU, so it is not
// done again where tap has just these.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { TapConfig } from '@tapjs/config'

const modules = join(dirname(import.meta.dirname), 'node_modules')
/** What tap generates; it names its plugins there. */
const built = join(modules, '@tapjs/test/test-built/dist/esm/index.js')

const { pluginSignature } = await TapConfig.load()
const isBuilt = existsSync(built) && readFileSync(built, 'utf8').includes(`signature = \`${pluginSignature}\``)
if (!isBuilt) execFileSync(join(modules, '.bin/tap'), ['build'], { stdio: 'inherit' })
