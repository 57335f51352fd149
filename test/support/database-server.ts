import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import pg from 'pg'
import { pathOf } from './installed.ts'
import { freePort } from './ports.ts'
import { removeFolder } from './redis-server.ts'
import { until } from './until.ts'

export type DatabaseKind = 'postgres' | 'mysql'

/** A database server of the test's own, or one that the environment names. */
export interface DatabaseServer {
  /** With the rights to create tables. */
  url: string
  /** Statements as the owner of the tables; the rows of the last one. */
  run(...statements: string[]): Promise<Record<string, unknown>[]>
  /** How the server can be ended and started again, and its certificate; `null` for one that others use too. */
  own: { kill(): Promise<void>; restart(): Promise<void>; certificate: string | null } | null
  stop(): Promise<void>
}

const PASSWORD = 'p@ss:w/ö?d#1'
const SERVERS = {
  postgres: { variable: 'TEST_POSTGRES_URL', start: startPostgres },
  mysql: { variable: 'TEST_MYSQL_URL', start: startMariadb },
} as const

/** Why tests against this database cannot run here; `false` when they can. */
export function missingDatabase(kind: DatabaseKind): string | false {
  const { variable } = SERVERS[kind]
  const found =
    process.env[variable] !== undefined ||
    (kind === 'postgres' ? postgresPrograms() !== null : pathOf('mariadbd') !== undefined)
  return found
    ? false
    : `LEFT OUT: no ${kind === 'postgres' ? 'PostgreSQL' : 'MariaDB'} server is installed and ${variable} is not set`
}

export async function startDatabase(kind: DatabaseKind): Promise<DatabaseServer> {
  const { variable, start } = SERVERS[kind]
  const url = process.env[variable]
  const run = (at: string) => (kind === 'postgres' ? runPostgres(at) : runMysql(at))
  if (url !== undefined) return { url, run: run(url), own: null, stop: async () => undefined }

  const { address, boot, folder, certificate } = await start()
  let child = boot()
  const kill = () => end(child)
  /** A server that was killed may leave a process or two that keep the next one from starting at once. */
  const boots = async () => {
    let fault: unknown
    const answers = () =>
      server.run('SELECT 1').then(
        () => true,
        error => {
          fault = error
          if (child.exitCode !== null) child = boot()
          return false
        },
      )
    await until(answers).catch(() => Promise.reject(fault))
  }
  const server: DatabaseServer = {
    url: address,
    run: run(address),
    own: {
      kill,
      async restart() {
        await kill()
        child = boot()
        await boots()
      },
      certificate,
    },
    async stop() {
      await kill()
      await removeFolder(folder)
    },
  }
  await boots()
  return server
}

interface Installed {
  address: string
  folder: string
  certificate: string | null
  boot(): ChildProcess
}

/** Database servers refuse to run as root; then they run as an unprivileged user. */
function asWhom(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/** An empty folder that the server may write to. */
function folderFor(who: ReturnType<typeof asWhom>): string {
  const folder = mkdtempSync(join(tmpdir(), 'dualgate-db-'))
  if (who !== null) chownSync(folder, who.uid, who.gid)
  return folder
}

/** The newest installed PostgreSQL: Debian keeps its programs out of PATH. */
function postgresPrograms(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  const initdb = pathOf(
    'initdb',
    versions.map(version => join(root, version, 'bin')),
  )
  return initdb === undefined ? null : dirname(initdb)
}

async function startPostgres(): Promise<Installed> {
  const programs = postgresPrograms()!
  const who = asWhom()
  const folder = folderFor(who)
  const data = join(folder, 'data')
  const words = join(folder, 'words')
  writeFileSync(words, PASSWORD)
  if (who !== null) chownSync(words, who.uid, who.gid)
  const options = { cwd: folder, env: { ...process.env, HOME: folder }, ...who }
  const init = [
    '-D',
    data,
    '-U',
    'owner',
    '-A',
    'scram-sha-256',
    `--pwfile=${words}`,
    '-E',
    'UTF8',
    '--no-locale',
    '-N',
  ]
  execFileSync(join(programs, 'initdb'), init, { ...options, stdio: 'pipe' })
  const certificate = certificateIn(folder, who)
  const tls = certificate === null ? [] : ['ssl=on', `ssl_cert_file=${certificate}`, `ssl_key_file=${folder}/key.pem`]
  const port = await freePort()
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'fsync=off',
    ...tls,
  ]
  return {
    address: `postgres://owner:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    folder,
    certificate,
    // A server that was killed leaves its lock behind, and reads it as its own death.
    boot: () => launch(join(programs, 'postgres'), ['-D', data, ...settings.flatMap(text => ['-c', text])], options),
  }
}

async function startMariadb(): Promise<Installed> {
  const who = asWhom()
  const folder = folderFor(who)
  const data = join(folder, 'data')
  mkdirSync(data)
  if (who !== null) chownSync(data, who.uid, who.gid)
  const options = { cwd: folder, env: { ...process.env, HOME: folder }, ...who }
  const install = [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    `--tmpdir=${folder}`,
  ]
  execFileSync('mariadb-install-db', install, { ...options, stdio: 'pipe' })
  const certificate = certificateIn(folder, who)
  const port = await freePort()
  const script = join(folder, 'init.sql')
  const owner = `CREATE OR REPLACE USER owner@'127.0.0.1' IDENTIFIED BY '${PASSWORD}';\n`
  writeFileSync(script, `${owner}GRANT ALL ON *.* TO owner@'127.0.0.1';\nCREATE DATABASE IF NOT EXISTS accounts;\n`)
  chmodSync(script, 0o644)
  const settings = [
    '--no-defaults',
    `--datadir=${data}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    `--socket=${folder}/socket`,
    `--tmpdir=${folder}`,
    `--init-file=${script}`,
    // What was committed outlives the server, which a test kills.
    '--innodb-flush-log-at-trx-commit=2',
    '--innodb-buffer-pool-size=16M',
    ...(certificate === null ? [] : [`--ssl-cert=${certificate}`, `--ssl-key=${folder}/key.pem`]),
  ]
  return {
    address: `mysql://owner:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/accounts`,
    folder,
    certificate,
    boot: () => launch(pathOf('mariadbd')!, settings, options),
  }
}

/** A self-signed certificate for localhost; `null` if openssl is missing. */
function certificateIn(folder: string, who: ReturnType<typeof asWhom>): string | null {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const name = [
    '-subj',
    '/CN=localhost',
    '-addext',
    'subjectAltName=DNS:localhost',
    '-keyout',
    key,
    '-out',
    certificate,
  ]
  if (spawnSync('openssl', [...request, ...name]).status !== 0) return null
  chmodSync(key, 0o600)
  chmodSync(certificate, 0o644)
  if (who !== null) chownSync(key, who.uid, who.gid)
  return certificate
}

function launch(program: string, parameters: string[], options: object): ChildProcess {
  const child = spawn(program, parameters, { ...options, stdio: 'ignore' })
  const endWithUs = () => child.kill('SIGKILL')
  process.on('exit', endWithUs)
  child.on('exit', () => process.off('exit', endWithUs))
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

const runPostgres =
  (url: string): DatabaseServer['run'] =>
  async (...statements) => {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    try {
      await client.connect()
      let rows: Record<string, unknown>[] = []
      for (const statement of statements) rows = (await client.query(statement)).rows
      return rows
    } finally {
      await client.end().catch(() => undefined)
    }
  }

const runMysql =
  (url: string): DatabaseServer['run'] =>
  async (...statements) => {
    const connection = await createConnection(url)
    try {
      let rows: unknown = []
      for (const statement of statements) [rows] = await connection.query(statement)
      return rows as Record<string, unknown>[]
    } finally {
      connection.destroy()
    }
  }
