import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Attribute, Change, Client, Control } from 'ldapts'
import { createCertificate } from './certificate.ts'
import { pathOf } from './installed.ts'
import { freePort, isListening } from './ports.ts'
import { until } from './until.ts'

/** Attributes of an entry, by their names. */
export type Attributes = Record<string, string | string[]>

/** A directory that a test owns: a real slapd, with TLS, groups that name their members in memberOf, and a password policy. */
export interface Slapd {
  /** By `ldaps://`, and by `ldap://` for StartTLS. */
  url: string
  plain: string
  /** PEM file of the authority. */
  ca: string
  pid: number
  add(dn: string, attributes: Attributes): Promise<void>
  /** Replaces attributes; an empty list removes one. */
  modify(dn: string, attributes: Attributes): Promise<void>
  remove(dn: string): Promise<void>
  read(dn: string, attributes: string[]): Promise<Record<string, unknown>>
  /** What the server has logged of each connection and operation. */
  log(): string
  /** Answers the lines of the log since then that match: all that the server has done by then is among them. */
  follow(): (pattern: RegExp) => Promise<string[]>
  /** Nothing is answered, and no connection is closed (SIGSTOP). */
  pause(): void
  resume(): void
  kill(): Promise<void>
  restart(): Promise<void>
}

const SLAPD = pathOf('slapd')
const MODULES = ['/usr/lib/ldap', '/usr/lib64/openldap', '/usr/libexec/openldap'].find(existsSync)
const SCHEMAS = ['/etc/ldap/schema', '/etc/openldap/schema'].find(existsSync)

/** Why tests against a directory cannot run here; `false` when they can. */
export const withoutSlapd: string | false =
  SLAPD === undefined || MODULES === undefined || SCHEMAS === undefined ? 'LEFT OUT: no slapd is installed' : false

export const SUFFIX = 'dc=example,dc=com'
/** A database without a password policy, whose attributes may then be written as a test needs them. */
export const FREE_SUFFIX = 'dc=free,dc=test'
export const SERVICE = { dn: `cn=gateway,${SUFFIX}`, password: 'service p@ss, wörd' }
const ROOT_PASSWORD = 'root of the directory'
export const POLICY = `cn=default,${SUFFIX}`

export interface SlapdOptions {
  /** Whether each change is written to the disk before it is answered. */
  isDurable?: boolean
  /** Lines for all databases, such as `sizelimit 500`. */
  global?: string[]
  /** Lines for the database of `SUFFIX`. */
  database?: string[]
  /** The names in its certificate. */
  names?: string
}

/** A server that ends with its test. It holds the entry of each suffix, and the account of the gateway. */
export async function startSlapd(t: { teardown(end: () => Promise<void>): void }, options: SlapdOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-slapd-'))
  const [tls, plain] = [await freePort(), await freePort()]
  const ca = createCertificate(folder, options.names)
  const config = join(folder, 'slapd.conf')
  writeFileSync(config, configuration(folder, options))
  for (const name of ['main', 'free']) mkdirSync(join(folder, name))
  const log = { text: '' }
  let child = await boot(config, tls, plain, log)
  t.teardown(async () => {
    await end(child)
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `ldaps://localhost:${tls}`
  const asRoot = createAdministration(url, readFileSync(ca, 'utf8'))
  const slapd: Slapd = {
    url,
    plain: `ldap://localhost:${plain}`,
    ca,
    get pid() {
      return child.pid!
    },
    ...asRoot,
    log: () => log.text,
    follow: () => follow(log, url, readFileSync(ca, 'utf8')),
    pause() {
      child.kill('SIGSTOP')
      // A thread that runs at this moment may still answer.
      while (!isStopped(child.pid!));
    },
    resume: () => void child.kill('SIGCONT'),
    kill: () => end(child),
    async restart() {
      await end(child)
      child = await boot(config, tls, plain, log)
    },
  }
  await fill(slapd)
  return slapd
}

function configuration(folder: string, { global = [], database = [], isDurable = false }: SlapdOptions): string {
  const speed = isDurable ? [] : ['dbnosync']
  const limits = `limits dn.exact="${SERVICE.dn}" size.soft=500 size.hard=500 size.prtotal=unlimited`
  const access = [
    `access to attrs=userPassword by anonymous auth by * none`,
    `access to * by dn.exact="${SERVICE.dn}" read by anonymous auth by * none`,
  ]
  return [
    ...['core', 'cosine', 'inetorgperson'].map(name => `include ${SCHEMAS}/${name}.schema`),
    `modulepath ${MODULES}`,
    ...['back_mdb', 'memberof', 'ppolicy'].map(name => `moduleload ${name}`),
    // Of other directories, so that their way of saying something can be tried here.
    ...['nsAccountLock', 'right'].map(
      (name, index) =>
        `attributetype ( 1.3.6.1.4.1.32473.1.${index} NAME '${name}' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )`,
    ),
    `objectclass ( 1.3.6.1.4.1.32473.2.1 NAME 'tried' AUXILIARY MAY ( nsAccountLock $ right ) )`,
    `TLSCertificateFile ${folder}/certificate.pem`,
    `TLSCertificateKeyFile ${folder}/key.pem`,
    `pidfile ${folder}/slapd.pid`,
    'threads 4',
    ...global,
    ...databaseLines(SUFFIX, join(folder, 'main'), [...speed, ...database, limits, ...access]),
    'overlay memberof',
    'overlay ppolicy',
    `ppolicy_default "${POLICY}"`,
    'ppolicy_use_lockout',
    ...databaseLines(FREE_SUFFIX, join(folder, 'free'), [...speed, limits, ...access]),
    '',
  ].join('\n')
}

const databaseLines = (suffix: string, directory: string, lines: string[]): string[] => [
  'database mdb',
  `suffix "${suffix}"`,
  `rootdn "cn=root,${suffix}"`,
  `rootpw "${ROOT_PASSWORD}"`,
  `directory ${directory}`,
  'maxsize 104857600',
  ...lines,
]

async function boot(config: string, tls: number, plain: number, log: { text: string }): Promise<ChildProcess> {
  const urls = `ldaps://127.0.0.1:${tls}/ ldap://127.0.0.1:${plain}/`
  const child = spawn(SLAPD!, ['-f', config, '-h', urls, '-d', 'stats'], { stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr!.setEncoding('utf8').on('data', text => {
    log.text += text
  })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`slapd ended with ${child.exitCode}: ${log.text.slice(-2000)}`)
    return (await isListening(tls)) && isListening(plain)
  })
  return child
}

let marks = 0

function follow(log: { text: string }, url: string, ca: string): ReturnType<Slapd['follow']> {
  const from = log.text.length
  return async pattern => {
    // A search of our own is logged after everything before it.
    const base = `cn=mark-${marks++},${SUFFIX}`
    const client = new Client({ url, tlsOptions: { ca, checkServerIdentity: () => undefined } })
    await client.search(base, { scope: 'base' }).catch(() => undefined)
    await client.unbind()
    const mark = await until(() => new RegExp(`conn=\\d+ (?=.* SRCH base="${base}")`).exec(log.text)?.[0])
    const lines = log.text.slice(from).split('\n')
    return lines.filter(line => pattern.test(line) && !line.includes(mark) && !MARK.test(line))
  }
}

/** Searches of earlier questions about the log. */
const MARK = /SRCH (?:base="cn=mark-|attr=)/

/** Whether all threads of a process have stopped. Other systems than Linux do not say it. */
function isStopped(pid: number): boolean {
  if (process.platform !== 'linux') return true
  const folder = `/proc/${pid}/task`
  return readdirSync(folder).every(task => /\) [Tt] /.test(readFileSync(`${folder}/${task}/stat`, 'utf8')))
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

/** Allows the administrator to write what the server itself keeps, such as the time of a password. */
const RELAX = new Control('1.3.6.1.4.1.4203.666.5.12', { critical: true })

type Administration = Pick<Slapd, 'add' | 'modify' | 'remove' | 'read'>

/** Each change has a connection of its own, so that none is left to those who look at connections. */
function createAdministration(url: string, ca: string): Administration {
  async function as<T>(dn: string, work: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({ url, tlsOptions: { ca, checkServerIdentity: () => undefined } })
    try {
      const suffix = dn.endsWith(FREE_SUFFIX) ? FREE_SUFFIX : SUFFIX
      await client.bind(`cn=root,${suffix}`, ROOT_PASSWORD)
      return await work(client)
    } finally {
      await client.unbind()
    }
  }
  const listed = (value: string | string[]): string[] => (typeof value === 'string' ? [value] : value)
  return {
    add: (dn, attributes) =>
      as(dn, client =>
        client.add(dn, Object.fromEntries(Object.entries(attributes).filter(([, value]) => value.length > 0))),
      ),
    modify: (dn, attributes) =>
      as(dn, client =>
        client.modify(
          dn,
          Object.entries(attributes).map(
            ([type, value]) =>
              new Change({ operation: 'replace', modification: new Attribute({ type, values: listed(value) }) }),
          ),
          RELAX,
        ),
      ),
    remove: dn => as(dn, client => client.del(dn)),
    read: (dn, attributes) =>
      as(dn, async client => (await client.search(dn, { scope: 'base', attributes })).searchEntries[0]!),
  }
}

async function fill(slapd: Slapd): Promise<void> {
  for (const suffix of [SUFFIX, FREE_SUFFIX]) {
    const dc = /^dc=(\w+)/.exec(suffix)![1]!
    await slapd.add(suffix, { objectClass: ['organization', 'dcObject'], dc, o: dc })
  }
  const role = { objectClass: ['organizationalRole', 'simpleSecurityObject'], cn: 'gateway' }
  await slapd.add(SERVICE.dn, { ...role, userPassword: SERVICE.password })
  await slapd.add(POLICY, {
    objectClass: ['device', 'pwdPolicy'],
    cn: 'default',
    pwdAttribute: 'userPassword',
    pwdLockout: 'TRUE',
    pwdMaxFailure: '4',
    pwdMustChange: 'TRUE',
    pwdMaxAge: '8640000',
  })
}

/** A special character of a value in a name (RFC 4514, 2.4). */
export const escaped = (value: string): string =>
  value.replace(/[",+;<>\\=#]/g, sign => `\\${sign}`).replace(/^ | $/g, '\\ ')

/** An organizational unit for the entries of one test. */
export async function unitOf(slapd: Slapd, name: string, suffix = SUFFIX): Promise<string> {
  const dn = `ou=${name},${suffix}`
  await slapd.add(dn, { objectClass: 'organizationalUnit', ou: name })
  return dn
}

/** Adds a person, and answers its name. */
export async function addPerson(slapd: Slapd, unit: string, uid: string, attributes: Attributes = {}): Promise<string> {
  const dn = `uid=${escaped(uid)},${unit}`
  const classes = ['inetOrgPerson', 'tried']
  await slapd.add(dn, { objectClass: classes, uid, cn: uid, sn: uid, userPassword: PERSON_PASSWORD, ...attributes })
  return dn
}

export const PERSON_PASSWORD = 'correct horse'

export async function addGroup(slapd: Slapd, unit: string, cn: string, member: string | string[]): Promise<string> {
  const dn = `cn=${escaped(cn)},${unit}`
  await slapd.add(dn, { objectClass: 'groupOfNames', cn, member })
  return dn
}

/** The settings of a source with this directory, as a configuration has them. */
export const ldapConfig = (slapd: Pick<Slapd, 'url' | 'ca'>, rest: Record<string, unknown> = {}) => ({
  kind: 'ldap',
  preset: 'openldap',
  url: slapd.url,
  ca: slapd.ca,
  bind: SERVICE,
  base: SUFFIX,
  timeout: '60s',
  ...rest,
})
