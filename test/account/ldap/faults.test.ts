import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Unavailable } from '../../../src/base/refusal.ts'
import { folderWith } from '../../settings/folder.ts'
import { freePort } from '../../support/ports.ts'
import {
  addGroup,
  addPerson,
  ldapConfig,
  PERSON_PASSWORD,
  SERVICE,
  type Slapd,
  SUFFIX,
  startSlapd,
  unitOf,
  withoutSlapd,
} from '../../support/slapd.ts'
import { until } from '../../support/until.ts'
import { openLdap, openSource } from './ldap-fixture.ts'

/* A directory that fails: it is never "wrong password", and never access. */

/** Why a question is not answered; throws for an answer, and for anything that is not 503. */
async function faultOf(question: Promise<unknown>): Promise<string> {
  try {
    throw new Error(`answered ${JSON.stringify(await question)}`)
  } catch (fault) {
    if (!(fault instanceof Unavailable)) throw fault
    const texts: string[] = []
    for (let cause: unknown = fault.cause; cause instanceof Error; cause = cause.cause) texts.push(cause.message)
    return texts.join(': ')
  }
}

/** A relay to a server, which passes on each TLS record of the client, by its type and number, until `stopsAt` answers `true`. */
async function startRelay(t: Test, slapd: Slapd, stopsAt: (type: number, number: number) => boolean): Promise<string> {
  const to = Number(new URL(slapd.url).port)
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(to, '127.0.0.1')
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => undefined))
    const counts = new Map<number, number>()
    let rest = Buffer.alloc(0)
    let isStopped = false
    client.on('data', data => {
      rest = Buffer.concat([rest, data as Buffer])
      // Type, version, length (RFC 8446, 5.1).
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt16BE(3)) {
        const [type, length] = [rest[0]!, 5 + rest.readUInt16BE(3)]
        counts.set(type, (counts.get(type) ?? 0) + 1)
        // A process that is to stop may still answer what it receives meanwhile.
        isStopped ||= stopsAt(type, counts.get(type)!)
        if (!isStopped) upstream.write(rest.subarray(0, length))
        rest = rest.subarray(length)
      }
    })
    client.on('close', () => upstream.destroy())
    upstream.on('data', data => client.write(data as Buffer)).on('close', () => client.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `ldaps://localhost:${(server.address() as AddressInfo).port}`
}

const [HANDSHAKE, DATA] = [22, 23]
/** With it, the first records of data are requests: in TLS 1.3 the end of the handshake looks like one. */
const TLS_1_2 = { global: ['TLSCipherSuite NORMAL:-VERS-TLS1.3'] }

t.test('a directory that fails', { skip: withoutSlapd }, async t => {
  const slapd = await startSlapd(t, TLS_1_2)
  const base = await unitOf(slapd, 'people')
  await addPerson(slapd, base, 'jane')

  await certificates(t, slapd, base)
  await stops(t, slapd, base)
  await closings(t, slapd, base)
  await severalServers(t, slapd, base)

  await t.test('an account of the gateway that may not bind is not a wrong password of a user', async t => {
    const source = await openLdap(t, slapd, { base, bind: { ...SERVICE, password: 'another' } })
    t.match(await faultOf(source.find('jane')), /result 49/)
  })

  await t.test('an account of the gateway whose password has expired does not search as an unknown client', async t => {
    const dn = `cn=expired,${SUFFIX}`
    const classes = ['organizationalRole', 'simpleSecurityObject']
    await slapd.add(dn, { objectClass: classes, cn: 'expired', userPassword: SERVICE.password })
    await slapd.modify(dn, { pwdChangedTime: '20200101000000Z' })
    const source = await openLdap(t, slapd, { bind: { ...SERVICE, dn } })
    const lines = slapd.follow()
    t.match(await faultOf(source.find('jane')), /result 49/)
    t.same(await lines(/ SRCH base=/), [])
  })

  await t.test('an entry below which there is nothing to see is not an unknown name', async t => {
    const source = await openLdap(t, slapd, { base: `ou=none,${SUFFIX}` })
    t.match(await faultOf(source.find('jane')), /result 32/)
  })

  await t.test('while no server answers, known and unknown names get the same', async t => {
    const source = await openLdap(t, slapd, { base })
    const known = await source.find('jane')
    await slapd.kill()
    for (const account of [known, null]) t.match(await faultOf(source.verify(account, PERSON_PASSWORD)), /ECONNREFUSED/)
    t.match(await faultOf(source.find('jane')), /ECONNREFUSED/)
    await slapd.restart()
    t.equal(await source.verify(await source.find('jane'), PERSON_PASSWORD), true)
  })
})

async function certificates(t: Test, slapd: Slapd, base: string): Promise<void> {
  await t.test('no password is sent to a server that is not verified, whatever the environment says', async t => {
    const other = await startSlapd(t)
    t.teardown(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
    for (const environment of [undefined, '0']) {
      if (environment !== undefined) process.env.NODE_TLS_REJECT_UNAUTHORIZED = environment
      for (const [url, start_tls] of [
        [slapd.url, false],
        [slapd.plain, true],
      ] as const) {
        const lines = slapd.follow()
        const source = await openLdap(t, slapd, { base, url, start_tls, ca: other.ca })
        t.match(await faultOf(source.find('jane')), /self-signed certificate/, url)
        t.match(await faultOf(source.verify(null, 'x')), /self-signed certificate/, url)
        t.same(await lines(/ BIND /), [])
      }
    }
    const misnamed = await startSlapd(t, { names: 'DNS:other.example' })
    for (const [url, start_tls] of [
      [misnamed.url, false],
      [misnamed.plain, true],
    ] as const) {
      const source = await openLdap(t, misnamed, { base, url, start_tls })
      t.match(await faultOf(source.find('jane')), /does not match certificate/, url)
    }
  })

  await t.test('ldap:// begins TLS before anything else is sent', async t => {
    const source = await openLdap(t, slapd, { base, url: slapd.plain, start_tls: true })
    const lines = slapd.follow()
    t.equal(await source.verify(await source.find('jane'), PERSON_PASSWORD), true)
    const first = await lines(/ op=0 (?!RESULT)/)
    t.equal(first.filter(line => / STARTTLS$/.test(line)).length, 2, 'of the gateway and of the user')
    t.same(
      first.filter(line => !/ (?:STARTTLS|EXT oid=1\.3\.6\.1\.4\.1\.1466\.20037)$/.test(line)),
      [],
    )
  })

  await t.test('a server that refuses StartTLS receives no password', async t => {
    const sent: Buffer[] = []
    const server = createServer(socket => {
      socket.on('error', () => undefined)
      socket.on('data', data => {
        sent.push(data as Buffer)
        // An extended response with protocolError.
        socket.write(Buffer.from('300c020102780707010204000400', 'hex'))
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => void server.close())
    const url = `ldap://localhost:${(server.address() as AddressInfo).port}`
    const source = await openSource(t, ldapConfig({ url, ca: slapd.ca }, { base, start_tls: true, timeout: '60s' }))
    t.ok(await faultOf(source.find('jane')))
    t.equal(sent.length, 1)
    t.notMatch(Buffer.concat(sent).toString(), SERVICE.password)
  })
}

async function stops(t: Test, slapd: Slapd, base: string): Promise<void> {
  const moments: [moment: string, type: number, number: number, ask: 'find' | 'verify'][] = [
    ['in the handshake', HANDSHAKE, 1, 'find'],
    ['in the bind of the gateway', DATA, 1, 'find'],
    ['in the search', DATA, 2, 'find'],
    ['in the handshake of a user', HANDSHAKE, 1, 'verify'],
    ['in the bind of a user', DATA, 1, 'verify'],
  ]
  for (const [moment, type, number, ask] of moments)
    await t.test(`a server that stops ${moment} is answered with 503, for known and unknown names`, async t => {
      for (const isKnown of [true, false]) {
        let isArmed = false
        const url = await startRelay(t, slapd, (seen, count) => {
          const stops = isArmed && seen === type && count === number
          if (stops) slapd.pause()
          return stops
        })
        t.teardown(() => slapd.resume())
        const source = await openLdap(t, slapd, { base, url, timeout: ask === 'find' ? '500ms' : '60s' })
        const name = isKnown ? 'jane' : 'john'
        const spent = 59_500
        const account = ask === 'find' ? null : await source.find(name)
        const lines = slapd.follow()
        isArmed = true
        const question = ask === 'find' ? source.find(name) : source.verify(account, PERSON_PASSWORD, { spent })
        const fault = await faultOf(question).finally(() => {
          isArmed = false
          slapd.resume()
        })
        t.match(fault, /no answer within/, name)
        t.ok((await lines(/ BIND .*method=/)).length <= 1, 'and no password is sent twice')
      }
    })
}

async function closings(t: Test, slapd: Slapd, base: string): Promise<void> {
  await t.test('a connection that the directory has closed costs another one, and no login', async t => {
    const source = await openLdap(t, slapd, { base })
    t.ok(await source.find('jane'))
    await slapd.restart()
    t.ok(await source.find('jane'))
    t.same(source.logged, [])
  })

  await t.test('a directory that closes idle connections is asked on a new one', async t => {
    const idle = await startSlapd(t, { global: ['idletimeout 1'] })
    const people = await unitOf(idle, 'people')
    await addPerson(idle, people, 'jane')
    const source = await openLdap(t, idle, { base: people })
    const lines = idle.follow()
    t.ok(await source.find('jane'))
    await until(async () => (await lines(/closed \(idletimeout\)/)).length > 0)
    t.ok(await source.find('jane'))
  })

  await t.test('a connection that was lost on the way costs a part of the time, and no login', async t => {
    let isLost = false
    const held: Socket[] = []
    const to = Number(new URL(slapd.url).port)
    const server = createServer(client => {
      const upstream = connect(to, '127.0.0.1')
      for (const socket of [client, upstream]) held.push(socket.on('error', () => undefined))
      const isOld = !isLost
      client.on('data', data => (isOld && isLost ? undefined : upstream.write(data as Buffer)))
      upstream.on('data', data => client.write(data as Buffer))
      client.on('close', () => upstream.destroy())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => {
      for (const socket of held) socket.destroy()
      server.close()
    })
    const url = `ldaps://localhost:${(server.address() as AddressInfo).port}`
    const source = await openLdap(t, slapd, { base, url, timeout: '60s' })
    t.ok(await source.find('jane'))
    isLost = true
    // Ten seconds are left: a part of them for the lost connection.
    t.ok(await source.find('jane', { spent: 50_000 }))
  })
}

async function severalServers(t: Test, slapd: Slapd, base: string): Promise<void> {
  await t.test('the next server is asked when one does not answer, and the first again later', async t => {
    const other = await startSlapd(t)
    await unitOf(other, 'people')
    await addPerson(other, base, 'jane')
    const trust = folderWith(t, {})
    const ca = join(trust, 'ca.pem')
    writeFileSync(ca, [slapd.ca, other.ca].map(file => readFileSync(file, 'utf8')).join('\n'))
    const unreachable = `ldaps://localhost:${await freePort()}`
    const source = await openLdap(t, slapd, { base, ca, url: [unreachable, slapd.url, other.url] })
    t.equal(await source.verify(await source.find('jane'), PERSON_PASSWORD), true)
    t.match(source.logged, [['warn', { url: unreachable }, 'a server of the directory does not answer']])

    await slapd.kill()
    const lines = other.follow()
    t.equal(await source.verify(await source.find('jane'), PERSON_PASSWORD), true, 'without the second')
    t.ok((await lines(/ BIND .*method=/)).length > 0)
    await slapd.restart()

    const impatient = await openLdap(t, slapd, { base, ca, url: [slapd.url, other.url], timeout: '1s' })
    slapd.pause()
    const found = await until(() => impatient.find('jane').catch(() => null))
    const isRight = await until(() => impatient.verify(found, PERSON_PASSWORD).catch(() => null))
    slapd.resume()
    t.equal(isRight, true, 'while the first is stopped')
  })

  await t.test('what the directory does not list in full is a fault, and not fewer accounts or roles', async t => {
    const limit = `limits dn.exact="${SERVICE.dn}"`
    for (const [size, question, fault] of [
      ['size=1', 'shared@example.com', /result 4|several/],
      ['size.soft=2 size.hard=2 size.prtotal=2', 'jane', /result 4/],
    ] as const) {
      const limited = await startSlapd(t, { database: [`${limit} ${size}`] })
      const people = await unitOf(limited, 'people')
      const jane = await addPerson(limited, people, 'jane', { mail: 'shared@example.com' })
      await addPerson(limited, people, 'john', { mail: 'shared@example.com' })
      for (let i = 0; i < 3; i++) await addGroup(limited, people, `group-${i}`, jane)
      const source = await openLdap(t, limited, { base: people, user: '(|(uid={username})(mail={username}))' })
      t.match(await faultOf(source.find(question)), fault, size)
    }
  })
}
