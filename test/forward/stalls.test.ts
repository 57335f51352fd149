import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import t from 'tap'
import { forwardTo, TOKEN } from '../support/forward-fixture.ts'
import { startRawUpstream } from '../support/upstream.ts'

/* A gateway that does not run for a while does not take its own stall for the silence of an upstream. */

const IDLE = 2000

t.test('a response body whose next part arrives while the gateway does not run is not cut off', async t => {
  const upstream = await startRawUpstream(socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf'))
  t.teardown(() => upstream.close())
  const { url } = await forwardTo(t, upstream.url, { timeouts: { idle: IDLE } })
  const headers = { authorization: TOKEN.consumer }
  const request = httpRequest(`${url}/api/v1/c/things`, { agent: false, headers }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  response.on('data', chunk => {
    text += chunk
    // Timers are the first that runs after the stall, before anything is read.
    if (text === 'half')
      setImmediate(() => {
        for (const socket of upstream.sockets) socket.write('half')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * IDLE)
      })
  })
  await once(response, 'end')
  t.equal(text, 'halfhalf')
})
