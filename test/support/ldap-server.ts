import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createServer } from 'node:tls'
import { BerReader, BerWriter } from 'ldapts'
import { createCertificate } from './certificate.ts'

/** A request as a server receives it. */
export type LdapRequest =
  | { kind: 'bind'; dn: string; password: string }
  | {
      kind: 'search'
      base: string
      scope: number
      /** As it was sent. */
      filter: Buffer
      attributes: string[]
    }

/**
 * What a server answers; `silent` answers nothing, `close` closes the connection, `bytes` are sent as they are. `policy` is the value of
 * a password policy control, in hex.
 */
export type LdapResponse =
  | { code: number; diagnostic?: string; policy?: string; entries?: LdapEntry[]; references?: string[] }
  | { bytes: (messageId: number) => Buffer }
  | 'silent'
  | 'close'

export interface LdapEntry {
  dn: string
  attributes: Record<string, (string | Buffer)[]>
}

/** A server that answers as a test says: what directories answer that are not at hand. */
export interface LdapServer {
  url: string
  ca: string
  /** All requests since the start. */
  requests: LdapRequest[]
  respond: (request: LdapRequest) => LdapResponse
}

const [BIND, UNBIND] = [0x60, 0x42]

/**
 * A server with TLS that ends with its test. It accepts every bind and finds nothing, unless `respond` is set. With `beside`, it
 * has the certificate of another server.
 */
export async function startLdapServer(
  t: { teardown(end: () => void): void },
  beside?: LdapServer,
): Promise<LdapServer> {
  const folder = beside === undefined ? mkdtempSync(join(tmpdir(), 'dualgate-ldap-')) : dirname(beside.ca)
  const ca = beside?.ca ?? createCertificate(folder)
  const tls = { cert: readFileSync(ca), key: readFileSync(join(folder, 'key.pem')) }
  const sockets = new Set<Socket>()
  const state: LdapServer = { url: '', ca, requests: [], respond: () => ({ code: 0 }) }
  const server = createServer(tls, socket => {
    sockets.add(socket.on('error', () => undefined))
    let rest = Buffer.alloc(0)
    socket.on('data', data => {
      rest = Buffer.concat([rest, data])
      for (let length = messageLength(rest); length !== null; length = messageLength(rest)) {
        answer(socket, rest.subarray(0, length), state)
        rest = rest.subarray(length)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    if (beside === undefined) rmSync(folder, { recursive: true, force: true })
  })
  state.url = `ldaps://localhost:${(server.address() as AddressInfo).port}`
  return state
}

/** The length of the first message; `null` as long as it is not complete. */
function messageLength(bytes: Buffer): number | null {
  const reader = new BerReader(bytes)
  const tag = reader.readSequence()
  return tag === null || reader.remain < reader.length ? null : reader.offset + reader.length
}

function answer(socket: Socket, message: Buffer, server: LdapServer): void {
  const reader = new BerReader(message)
  reader.readSequence()
  const id = reader.readInt()!
  const operation = reader.readSequence()!
  if (operation === UNBIND) return void socket.end()
  const request = operation === BIND ? readBind(reader) : readSearch(reader, message)
  server.requests.push(request)
  const response = server.respond(request)
  if (response === 'silent') return
  if (response === 'close') return void socket.destroy()
  if ('bytes' in response) return void socket.write(response.bytes(id))
  for (const entry of response.entries ?? []) socket.write(entryMessage(id, entry))
  for (const url of response.references ?? []) socket.write(written(id, 0x73, writer => writer.writeString(url)))
  socket.write(resultMessage(id, operation === BIND ? 0x61 : 0x65, response))
}

function readBind(reader: BerReader): LdapRequest {
  reader.readInt()
  const dn = reader.readString() ?? ''
  return { kind: 'bind', dn, password: reader.readString(0x80) ?? '' }
}

function readSearch(reader: BerReader, message: Buffer): LdapRequest {
  const base = reader.readString() ?? ''
  const scope = reader.readEnumeration()!
  reader.readEnumeration()
  for (let i = 0; i < 2; i++) reader.readInt()
  reader.readBoolean()
  const begin = reader.offset
  reader.readSequence()
  reader.offset += reader.length
  const filter = message.subarray(begin, reader.offset)
  const attributes: string[] = []
  reader.readSequence()
  for (const end = reader.offset + reader.length; reader.offset < end; ) attributes.push(reader.readString() ?? '')
  return { kind: 'search', base, scope, filter, attributes }
}

function written(id: number, operation: number, content: (writer: BerWriter) => void, policy?: string): Buffer {
  const writer = new BerWriter()
  writer.startSequence()
  writer.writeInt(id)
  writer.startSequence(operation)
  content(writer)
  writer.endSequence()
  if (policy !== undefined) writePolicy(writer, policy)
  writer.endSequence()
  return writer.buffer
}

function writePolicy(writer: BerWriter, policy: string): void {
  writer.startSequence(0xa0)
  writer.startSequence()
  writer.writeString('1.3.6.1.4.1.42.2.27.8.5.1')
  writer.writeBuffer(Buffer.from(policy, 'hex'), 0x04)
  writer.endSequence()
  writer.endSequence()
}

const resultMessage = (
  id: number,
  operation: number,
  { code, diagnostic = '', policy }: { code: number; diagnostic?: string; policy?: string },
) => {
  const write = (writer: BerWriter): void => {
    writer.writeEnumeration(code)
    writer.writeString('')
    writer.writeString(diagnostic)
  }
  return written(id, operation, write, policy)
}

const entryMessage = (id: number, { dn, attributes }: LdapEntry): Buffer =>
  written(id, 0x64, writer => {
    writer.writeString(dn)
    writer.startSequence()
    for (const [name, values] of Object.entries(attributes)) {
      writer.startSequence()
      writer.writeString(name)
      writer.startSequence(0x31)
      for (const value of values) writer.writeBuffer(Buffer.from(value), 0x04)
      writer.endSequence()
      writer.endSequence()
    }
    writer.endSequence()
  })
