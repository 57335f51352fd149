import { setFlagsFromString } from 'node:v8'
import t from 'tap'
import { allocateYoung } from '../../src/process/young-objects.ts'
import { NPM_START, newcomerFolder, startGateway } from '../support/process.ts'

/* Objects of requests are allocated where they can be freed cheaply, whatever V8 learned from those of the start. */

/** As many objects as V8 needs to conclude that those of one place in the code live long; it does so after some 200 000. */
const OBJECTS_OF_A_START = 500_000

t.test('an object is allocated in the young generation, also where all earlier ones of its place live', async t => {
  allocateYoung()
  setFlagsFromString('--allow-natives-syntax')
  const isYoung = new Function('object', 'return %InYoungGeneration(object)') as (object: unknown) => boolean
  const make = (): object[] => [{}]
  const start = Array.from({ length: OBJECTS_OF_A_START }, make)
  t.equal(isYoung(start[0]), false, 'those of the start have become old')
  t.same(
    Array.from({ length: 100 }, () => isYoung(make())).filter(young => !young),
    [],
  )
})

for (const workers of ['1', '2']) {
  t.test(`no process of a gateway with ${workers} of workers chooses another generation`, async t => {
    const { folder, remove } = newcomerFolder()
    t.teardown(remove)
    // V8 prints a line after each scavenge in which it considers the generation of a place in the code.
    const words = ['--trace-pretenuring-statistics', ...NPM_START]
    const gateway = await startGateway(folder, { WORKERS: workers }, words)
    t.notMatch(gateway.output(), /pretenuring:/)
    t.equal(await gateway.end('SIGTERM'), 0)
  })
}
