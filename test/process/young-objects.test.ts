import t from 'tap'
import { NPM_START, newcomerFolder, startGateway } from '../support/process.ts'

/* Objects of requests are allocated where they can be freed cheaply, whatever V8 learned from those of the start. */

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
