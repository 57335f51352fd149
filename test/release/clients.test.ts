import { execFile, spawnSync } from 'node:child_process'
import { cpSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import t, { type Test } from 'tap'
import { blocksOf, GUIDE } from '../support/documents.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { temporaryFolder } from '../support/image.ts'
import { makeOwnKey } from '../support/keys.ts'
import { ROOT } from '../support/root.ts'
import { missing } from './examples/backend-processes.ts'

/* Software that knows OAuth 2.0 alone gets a token for a key, and calls a backend with it. */

const FOLDER = join(ROOT, 'test/release/clients')
const BACKEND = '/api/v1/reports/today'
/** How a client names itself to the token endpoint. */
const METHODS = ['client_secret_basic', 'client_secret_post'] as const

interface Client {
  name: string
  skip: string | false
  /** What it says of a refused key, where it does not say what the gateway does: of a 401, Java shows no body. */
  refusal?: RegExp
  /** Makes the command that runs it, with what it reads from the environment besides. */
  prepare(t: Test): Promise<{ words: string[]; own?: (access: Access) => Record<string, string> }>
}

interface Access {
  CLIENT_ID: string
  CLIENT_SECRET: string
  TOKEN_URL: string
  BACKEND: string
  METHOD: (typeof METHODS)[number]
}

interface Outcome {
  code: number
  output: string
  errors: string
}

/** Runs a program to its end. */
const execute = ([program, ...rest]: string[], own: Record<string, string>, cwd?: string): Promise<Outcome> =>
  new Promise(resolve => {
    const env = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...own }
    execFile(program!, rest, { env, cwd, maxBuffer: 2 ** 26 }, (fault, output, errors) =>
      resolve({ code: fault === null ? 0 : Number(fault.code ?? 1), output, errors }),
    )
  })

/** These libraries refuse to send a secret without TLS, and the gateway of a test has none. */
const WITHOUT_TLS = { OAUTHLIB_INSECURE_TRANSPORT: '1', AUTHLIB_INSECURE_TRANSPORT: '1' }

/** The first Python on the path that has these modules. */
const pythonWith = (...modules: string[]): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, 'python3'))
    .find(python => existsSync(python) && spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0)

function pythonClient(name: string, module: string, file: string): Client {
  const python = pythonWith('requests', module)
  return {
    name,
    skip:
      python === undefined && `LEFT OUT: no python3 on PATH has ${name} (pip install ${name.toLowerCase()} requests)`,
    prepare: async () => ({ words: [python!, join(FOLDER, file)], own: () => WITHOUT_TLS }),
  }
}

const CURL = `
case $METHOD in
  *basic) set -- -u "$CLIENT_ID:$CLIENT_SECRET" ;;
  *) set -- --data-urlencode "client_id=$CLIENT_ID" --data-urlencode "client_secret=$CLIENT_SECRET" ;;
esac
answer=$(curl -sS --fail-with-body "$@" -d grant_type=client_credentials "$TOKEN_URL") || { echo "$answer" >&2; exit 1; }
token=$(printf %s "$answer" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
exec curl -sS --fail-with-body -H "Authorization: Bearer $token" "$BACKEND"`

/** A folder `node_modules` with openid-client. */
const { OPENID_CLIENT } = process.env

const OPENID: Client = {
  name: 'openid-client',
  skip:
    OPENID_CLIENT === undefined && 'LEFT OUT: $OPENID_CLIENT does not name a folder node_modules with openid-client',
  async prepare(t) {
    const folder = temporaryFolder(t, 'openid-client')
    cpSync(join(FOLDER, 'openid_client.mjs'), join(folder, 'client.mjs'))
    symlinkSync(OPENID_CLIENT!, join(folder, 'node_modules'))
    return { words: [process.execPath, join(folder, 'client.mjs')] }
  },
}

const SPRING: Client = {
  name: 'Spring Security',
  skip: missing('mvn'),
  refusal: /401 Unauthorized/,
  async prepare(t) {
    const folder = temporaryFolder(t, 'spring-client')
    cpSync(join(FOLDER, 'spring'), folder, { recursive: true })
    const built = await execute(['mvn', '--file', join(folder, 'pom.xml'), '--batch-mode', '-q', 'package'], {})
    if (built.code !== 0) throw new Error(built.output)
    return {
      words: ['java', '-jar', join(folder, 'target/client-1.0.0.jar')],
      own: ({ CLIENT_ID, CLIENT_SECRET, TOKEN_URL, METHOD }) => ({
        SPRING_APPLICATION_JSON: JSON.stringify({
          'spring.main.web-application-type': 'none',
          'spring.main.banner-mode': 'off',
          'logging.level.root': 'off',
          'spring.security.oauth2.client.provider.gateway.token-uri': TOKEN_URL,
          'spring.security.oauth2.client.registration.gateway': {
            'authorization-grant-type': 'client_credentials',
            'client-id': CLIENT_ID,
            'client-secret': CLIENT_SECRET,
            'client-authentication-method': METHOD,
          },
        }),
      }),
    }
  },
}

const CLIENTS: Client[] = [
  { name: 'curl', skip: missing('curl'), prepare: async () => ({ words: ['sh', '-c', CURL] }) },
  pythonClient('Authlib', 'authlib.integrations.requests_client', 'authlib_client.py'),
  pythonClient('requests-oauthlib', 'requests_oauthlib', 'oauthlib_client.py'),
  OPENID,
  SPRING,
]

const open = (t: Test) =>
  openFixture(t, { upstreams: [{ name: 'echo', match: '/api/v1/reports', target: 'builtin:echo' }] })

for (const { name, skip, refusal = /invalid_client/, prepare } of CLIENTS) {
  t.test(`${name} gets a token for a key, and calls a backend with it`, { skip }, async t => {
    const fixture = await open(t)
    const admin = await fixture.signIn()
    const { words, own = () => ({}) } = await prepare(t)
    const { id, key } = await makeOwnKey(fixture, admin, { paths: ['/api/v1/reports'] })
    const runWith = (METHOD: Access['METHOD']): Promise<Outcome> => {
      const TOKEN_URL = `${fixture.url}/api/v1/public/b/token`
      const access = { CLIENT_ID: id, CLIENT_SECRET: key, TOKEN_URL, BACKEND: fixture.url + BACKEND, METHOD }
      return execute(words, { ...access, ...own(access) })
    }
    for (const method of METHODS) {
      const { code, output, errors } = await runWith(method)
      if (!t.equal(code, 0, method)) t.comment(output + errors)
      const { url, headers } = JSON.parse(output)
      t.match({ url, headers }, { url: BACKEND, headers: { 'x-login-id': '1', 'x-login-key': id } })
      t.equal(headers.authorization, undefined)
    }
    await fixture.post('/api/v1/b/account/keys/revoke', { id }, admin)
    // Of a 401 to Basic, some of these programs read the header alone.
    const { code, output, errors } = await runWith('client_secret_post')
    t.not(code, 0)
    t.match(output + errors, refusal, 'and says that the key was refused')
    t.not((await runWith('client_secret_basic')).code, 0)
    t.notMatch(output, /x-login-key/)
  })
}

const PYTHON = pythonWith('requests', 'requests_oauthlib')

t.test(
  'the Python programs of the guide call a backend',
  {
    skip: PYTHON === undefined && 'LEFT OUT: no python3 on PATH has requests-oauthlib (pip install requests-oauthlib)',
  },
  async t => {
    const fixture = await open(t)
    const { id, key } = await makeOwnKey(fixture, await fixture.signIn())
    const folder = temporaryFolder(t, 'guide')
    writeFileSync(join(folder, 'nightly.key'), `${key}\n`)
    const programs = blocksOf(GUIDE).filter(({ language }) => language === 'python')
    t.equal(programs.length, 2)
    for (const { text } of programs) {
      const program = text.replaceAll(/https?:\/\/localhost:8080/g, fixture.url)
      const { code, output, errors } = await execute([PYTHON!, '-c', program], WITHOUT_TLS, folder)
      if (!t.equal(code, 0)) t.comment(errors)
      t.match(output, `'x-login-key': '${id}'`)
    }
  },
)
