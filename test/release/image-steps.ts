import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { parseEnv } from 'node:util'
import { parse } from 'yaml'
import { freshClone } from '../support/clone.ts'
import { type Instruction, stagesOf, temporaryFolder } from '../support/image.ts'
import { freePort } from '../support/ports.ts'
import { ROOT } from '../support/root.ts'

/*
 * What .ci/image does, without Docker: every step of a Dockerfile runs as it stands, in a clean folder that stands for the root of
 * the image. `FROM` alone is not done: Node, npm and the shell are those of this machine. The result then starts as the user of the
 * image, if this script runs as root: it refuses to start without secrets, makes them, and becomes healthy with them.
 * First the Dockerfile of this repository, then that of the compose file that `dualgate init` writes.
 */

const removals: (() => unknown)[] = []
const teardown = (remove: () => unknown): void => void removals.push(remove)
process.once('exit', () => removals.forEach(remove => void remove()))

const IS_ROOT = process.getuid?.() === 0
/** The user `node` of the official images. */
const NODE_USER = 1000

interface Image {
  root: string
  workdir: string
  environment: Record<string, string>
  instructions: Record<string, string>
}

interface Sources {
  context: string
  stages: Map<string, Image>
}

/** Where a path of the image is on this machine. */
const placeOf = ({ root, workdir }: Image, path: string): string =>
  join(root, isAbsolute(path) ? path : join(workdir, path))

const STEPS: Record<string, (image: Image, rest: string, sources: Sources) => void> = {
  FROM: () => undefined,
  WORKDIR(image, rest) {
    image.workdir = rest
    mkdirSync(placeOf(image, '.'), { recursive: true })
  },
  ENV(image, rest) {
    for (const pair of rest.split(' ')) image.environment[pair.split('=')[0]!] = pair.split('=')[1]!
  },
  COPY: copy,
  RUN: run,
}

function copy(image: Image, rest: string, { context, stages }: Sources): void {
  const words = rest.split(' ')
  const from = words[0]!.startsWith('--from=') ? stages.get(words.shift()!.slice('--from='.length))! : null
  const to = words.pop()!
  for (const word of words) {
    const source = from === null ? join(context, word) : placeOf(from, word)
    const target = placeOf(image, to.endsWith('/') ? join(to, basename(word)) : to)
    cpSync(source, target, { recursive: true, verbatimSymlinks: true })
  }
}

function run(image: Image, rest: string): void {
  const owner = IS_ROOT ? `-o ${NODE_USER} -g ${NODE_USER}` : ''
  const command = rest.replace('-o node -g node', owner).replaceAll('/tmp/', join(image.root, 'tmp/'))
  const env = { ...process.env, ...image.environment, npm_config_prefix: join(image.root, 'usr/local') }
  const { status } = spawnSync('sh', ['-euc', command], { cwd: placeOf(image, '.'), env, stdio: 'inherit' })
  if (status !== 0) throw new Error(`failed: RUN ${rest}`)
}

/** Runs the steps of all stages, and answers the last one. */
function build(dockerfile: string, context: string): Image {
  const stages = new Map<string, Image>()
  let image: Image | null = null
  for (const instructions of stagesOf(dockerfile)) {
    image = { root: temporaryFolder({ teardown }, 'image'), workdir: '/', environment: {}, instructions: {} }
    chmodSync(image.root, 0o755)
    stages.set(/ AS (\w+)$/.exec(instructions[0]!.rest)?.[1] ?? '', image)
    for (const step of instructions) runStep(image, step, { context, stages })
  }
  return image!
}

function runStep(image: Image, { name, rest }: Instruction, sources: Sources): void {
  process.stdout.write(`   ${name} ${rest}\n`)
  if (Object.hasOwn(STEPS, name)) STEPS[name]!(image, rest, sources)
  else if (/^(?:ARG|LABEL|USER|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)$/.test(name)) image.instructions[name] = rest
  else throw new Error(`${name}: test/image-steps.ts does not know this instruction`)
}

interface Container {
  image: Image
  entrypoint: string[]
  command: string[]
  environment: Record<string, string>
  healthcheck: string[]
}

function startIn({ image, environment }: Container, [program, ...words]: string[], quiet = false): ChildProcess {
  const PATH = [dirname(process.execPath), join(image.root, 'usr/local/bin'), process.env.PATH].join(':')
  return spawn(program!, words, {
    cwd: placeOf(image, '.'),
    env: { ...image.environment, ...environment, PATH, HOME: '/nonexistent' },
    ...(IS_ROOT && { uid: NODE_USER, gid: NODE_USER }),
    stdio: ['ignore', 'pipe', quiet ? 'ignore' : 'inherit'],
  })
}

async function ended(child: ChildProcess): Promise<{ code: number; printed: string }> {
  let printed = ''
  child.stdout!.on('data', chunk => (printed += chunk))
  const [code] = await once(child, 'close')
  return { code, printed: printed.trim() }
}

async function prove(container: Container): Promise<void> {
  const { entrypoint, command, healthcheck } = container
  const { code } = await ended(startIn({ ...container, environment: {} }, [...entrypoint, 'check'], true))
  if (code === 0) throw new Error('it accepts a configuration without secrets')
  const gateway = startIn(container, [...entrypoint, ...command])
  let printed = ''
  gateway.stdout!.on('data', chunk => (printed += chunk))
  const end = ended(gateway)
  const probe = async (): Promise<boolean> => (await ended(startIn(container, healthcheck, true))).code === 0
  // A worker answers the probe while others start.
  for (let tries = 1; !((await probe()) && /answers at /.test(printed)); tries++) {
    if (gateway.exitCode !== null || tries === 600) throw new Error('it does not become healthy')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  gateway.kill('SIGTERM')
  if ((await end).code !== 0) throw new Error('it does not stop in order')
  process.stdout.write('   healthy\n')
}

/** What the listeners of this machine do not take from others. */
async function ports(): Promise<Record<string, string>> {
  return { LISTEN__PORT: '0', LISTEN__HOST: '127.0.0.1', INTERNAL__PORT: String(await freePort()), WORKERS: '2' }
}

const textIn = (folder: string, file: string): string => readFileSync(join(folder, file), 'utf8')

/** The image of this repository, as .ci/image starts it. */
async function proveDockerfile(clone: string): Promise<void> {
  const image = build(textIn(clone, 'Dockerfile'), clone)
  const { ENTRYPOINT, CMD, HEALTHCHECK } = image.instructions
  const entrypoint = JSON.parse(ENTRYPOINT!) as string[]
  const container = {
    image,
    entrypoint,
    command: JSON.parse(CMD!) as string[],
    environment: await ports(),
    healthcheck: JSON.parse(/CMD (\[.*\])$/.exec(HEALTHCHECK!)![1]!) as string[],
  }
  const key = async (kind: string): Promise<string> =>
    (await ended(startIn(container, [...entrypoint, 'keys', kind], true))).printed.split('\n')[0]!
  Object.assign(container.environment, {
    JWT__SECRET_KEY: await key('jwt'),
    INTERNAL__SECRET: await key('jwt'),
    LOGIN__SM2__PRIVATE_KEY: await key('sm2'),
  })
  await prove(container)
}

/** The image of the compose file that `dualgate init` writes, built from the package that `npm pack` makes. */
async function proveComposeFile(clone: string): Promise<void> {
  const folder = temporaryFolder({ teardown }, 'init')
  const shell = `ln -s '${join(ROOT, 'node_modules')}' node_modules
npm pack --silent --pack-destination '${folder}'
cd '${folder}' && node '${clone}/dist/main.js' init`
  if (spawnSync('sh', ['-euc', shell], { cwd: clone, stdio: 'inherit' }).status !== 0)
    throw new Error('npm pack failed')
  const { gateway } = parse(textIn(folder, 'docker-compose.yml')).services
  const image = build(gateway.build.dockerfile_inline, folder)
  cpSync(join(folder, 'config'), placeOf(image, 'config'), { recursive: true })
  const environment = { ...gateway.environment, ...parseEnv(textIn(folder, '.env')), ...(await ports()) }
  const here = (word: string): string => word.replace('127.0.0.1:8081', `127.0.0.1:${environment.INTERNAL__PORT}`)
  const [program, ...words] = gateway.command as string[]
  const healthcheck = (gateway.healthcheck.test as string[]).slice(1).map(here)
  await prove({
    image: { ...image, environment: { NODE_ENV: 'production' } },
    entrypoint: [program!],
    command: words,
    environment,
    healthcheck,
  })
}

const clone = freshClone({ teardown })
await proveDockerfile(clone)
await proveComposeFile(clone)
