import { execFile } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { NPM_START } from '../support/process.ts'

/* The objects that each request makes for process.nextTick are made by compiled code, from the first request on. */

const MODULE = new URL('process/ticks.js', pathToFileURL(NPM_START[0]!))

/** Turns of the event loop in which V8 can finish a compilation that it has begun. */
const TURNS = 20_000

/** Prints whether the function is compiled: before, and in the end. */
const PROGRAM = `
const { settleTicks } = await import('${MODULE}')
const OPTIMIZED = 16
const isOptimized = () => (%GetOptimizationStatus(process.nextTick) & OPTIMIZED) !== 0
console.log(isOptimized())
settleTicks()
let turns = 0
while (!isOptimized() && turns++ < ${TURNS}) await new Promise(resolve => setImmediate(resolve))
console.log(isOptimized())
`

t.test('process.nextTick is compiled before the program is loaded', async t => {
  const words = ['--allow-natives-syntax', '--input-type=module', '--eval', PROGRAM]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  t.equal(stdout, 'false\ntrue\n')
})
