import { openForwardFixture, type WrittenUpstream } from '../support/forward-fixture.ts'

/** A gateway in a process of its own, for tests that look at the process: it reports its peak of resident memory when asked. */

const fixture = await openForwardFixture({ upstreams: JSON.parse(process.argv[2]!) as WrittenUpstream[] })

let peak = 0
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 10)

process.on('message', message => {
  if (message === 'peak') {
    process.send!({ peak })
    peak = process.memoryUsage.rss()
  }
})
process.on('disconnect', () => process.exit())
process.send!({ url: fixture.url })
