import { once } from 'node:events'
import t from 'tap'
import { openRawClient } from '../../support/client.ts'
import { forwardTo } from '../../support/forward-fixture.ts'

/* Clients that go on sending behind their answer. What they send is discarded, so that they come to read the answer. */

/** More than the system keeps of what is not read, and less than is discarded. */
const REST = 'x'.repeat(12_000_000)

for (const [what, head, status] of [
  [
    'a body whose request is refused',
    `POST /nothing HTTP/1.1\r\nHost: h\r\nContent-Length: ${REST.length}\r\n\r\n`,
    404,
  ],
  [
    'what follows an invalid chunk',
    'POST /api/v1/public/c/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n',
    400,
  ],
  ['what follows invalid HTTP', 'GET / HTTP/9.9\r\n\r\n', 400],
  ['what follows CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 405],
] as const)
  t.test(`${what} is read, and its client gets the answer`, async t => {
    const { port } = await forwardTo(t, 'http://127.0.0.1:9')
    const { socket, heard } = openRawClient(t, port)
    // Rejects where the connection is reset.
    const closed = once(socket, 'close')
    socket.write(head)
    socket.end(REST)
    await Promise.all([once(socket, 'finish'), closed])
    t.match(heard(), new RegExp(`^HTTP/1\\.1 ${status} `))
  })
