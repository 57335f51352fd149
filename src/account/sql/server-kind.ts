import { connect, type Socket } from 'node:net'
import { foundOn } from '../../base/asked-socket.ts'
import type { DatabaseAddress } from '../../settings/database-address.ts'

type Kind = DatabaseAddress['kind']

/** PostgreSQL answers it with one byte, whether it has TLS or not, and asks for no user. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])
const SSL_ANSWER = /^[SN]$/

/** Milliseconds in which MySQL sends data first. A shorter time would count as a faulty connection there. */
const FIRST_WORD = 500

/** The number of a packet, and what it begins with: the version of the greeting, or that MySQL refuses the connection. */
const isMysql = (bytes: Buffer): boolean => bytes[3] === 0 && (bytes[4] === 10 || bytes[4] === 0xff)

/** Which database listens there, by how it begins a connection; `null` for none, and for one that does not answer in time. */
export function serverKind({ host, port }: DatabaseAddress, timeout: number): Promise<Kind | null> {
  const socket = connect({ host, port })
  return foundOn<Kind | null>(socket, timeout, null, found => {
    socket.once('connect', () => listen(socket, found))
  })
}

function listen(socket: Socket, found: (kind: Kind | null) => void): void {
  let received = Buffer.alloc(0)
  let isAsked = false
  const question = setTimeout(() => {
    isAsked = received.length === 0
    if (isAsked) socket.write(SSL_REQUEST)
  }, FIRST_WORD)
  socket.once('close', () => clearTimeout(question))
  socket.on('data', bytes => {
    received = Buffer.concat([received, bytes])
    if (isAsked) found(SSL_ANSWER.test(received.toString('latin1')) ? 'postgres' : null)
    else if (received.length >= 5) found(isMysql(received) ? 'mysql' : null)
  })
}
