import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Test } from 'tap'
import { ROOT } from './root.ts'

/*
 * The image of the Dockerfile, made without an engine: its steps run in empty folders. Only the packages are those of this
 * tree, which `npm ci` has installed before.
 */

export const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

export interface Instruction {
  name: string
  rest: string
}

const instructionsIn = (text: string): Instruction[] =>
  [...text.matchAll(/^([A-Z]+) (.*)$/gm)].map(([, name, rest]) => ({ name: name!, rest: rest! }))

/** The instructions of a Dockerfile's stages, one list for each; `FROM` names what the arguments before it say. */
export function stagesOf(dockerfile: string): Instruction[][] {
  const [head, ...stages] = `\n${dockerfile}`.split(/^(?=FROM )/m)
  const defaults = new Map(
    instructionsIn(head!).flatMap(({ name, rest }) => (name === 'ARG' ? [rest.split('=') as [string, string]] : [])),
  )
  const defaultOf = (_all: string, name: string): string => defaults.get(name)!
  return stages.map(stage =>
    instructionsIn(stage).map(({ name, rest }) => ({
      name,
      rest: name === 'FROM' ? rest.replace(/\$(\w+)/g, defaultOf) : rest,
    })),
  )
}
export const STAGES = stagesOf(textOf('Dockerfile'))
const [BUILD, IMAGE] = STAGES as [Instruction[], Instruction[]]
export const instructionOf = (name: string): string => IMAGE.find(instruction => instruction.name === name)!.rest

/** `npm` of a shell in which some of its commands are these instead. */
export const npmBut = (commands: Record<string, string>): string => `npm() {
  case "$1" in
${Object.entries(commands)
  .map(([name, command]) => `    ${name}) ${command} ;;`)
  .join('\n')}
    *) command npm "$@" ;;
  esac
}`

/** Instead of `npm ci`: the packages of this tree, which it has installed before. */
export const LINK_PACKAGES = `ln -sfn '${join(ROOT, 'node_modules')}' node_modules`

/** `npm` of the build stage: what it prunes is left out of the image by `copyDependencies`. */
const NPM = npmBut({ ci: LINK_PACKAGES, prune: ':' })

/** A folder with what the image holds below /app, but the folders that are written to. */
export function buildImage(t: Test): string {
  const built = temporaryFolder(t, 'build')
  for (const { name, rest } of BUILD) {
    if (name === 'COPY') copyInto(built, rest.split(' '), ROOT)
    if (name === 'RUN')
      execFileSync('sh', ['-euc', `${NPM}\n${rest}`], { cwd: built, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const folder = temporaryFolder(t, 'image')
  for (const { name, rest } of IMAGE) {
    if (name === 'COPY') copyInto(folder, rest.split(' '), rest.startsWith('--from=build ') ? built : ROOT)
  }
  return folder
}

export function temporaryFolder(t: Pick<Test, 'teardown'>, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `dualgate-${name}-`))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function copyInto(folder: string, words: string[], from: string): void {
  const [to, ...sources] = words.filter(word => !word.startsWith('--')).reverse()
  for (const source of sources) {
    const file = source.replace('/app/', '')
    if (file === 'node_modules') copyDependencies(folder)
    else cpSync(join(from, file), join(folder, to === './' ? file : to!), { recursive: true, filter: isShipped })
  }
}

const isShipped = (file: string): boolean => !/config\/(accounts|consumers)\.yaml$/.test(file)

/** What `npm prune --omit=dev` leaves. */
function copyDependencies(folder: string): void {
  const { packages } = JSON.parse(textOf('package-lock.json')) as { packages: Record<string, { dev?: boolean }> }
  for (const [path, { dev = false }] of Object.entries(packages)) {
    const isNested = path.lastIndexOf('node_modules/') !== 0
    if (dev || isNested || !existsSync(join(ROOT, path))) continue
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  }
}

const INSTALLED = /^install -d .* -m 0700 (.*)$/.exec(instructionOf('RUN'))![1]!.split(' ')

/** A container of the image: what it writes is its own, but what is in the volume `shared`. */
export function container(t: Test, image: string, shared: string): string {
  const folder = temporaryFolder(t, 'container')
  for (const name of readdirSync(image)) symlinkSync(join(image, name), join(folder, name))
  for (const name of INSTALLED) if (name !== 'shared') mkdirSync(join(folder, name), { mode: 0o700 })
  symlinkSync(shared, join(folder, 'shared'))
  return folder
}

const SET = instructionOf('ENV')
  .split(' ')
  .map(pair => pair.split('='))
export const IMAGE_ENVIRONMENT: Record<string, string> = { ...Object.fromEntries(SET), HOME: '/nonexistent' }

export interface Ended {
  code: number
  printed: string
}

/** Runs a program in a container to its end. */
export async function runIn(folder: string, [program, ...words]: string[], environment = {}): Promise<Ended> {
  const child = spawn(program === 'node' ? process.execPath : program!, words, {
    cwd: folder,
    env: { ...IMAGE_ENVIRONMENT, PATH: `${resolve(process.execPath, '..')}:${process.env.PATH}`, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream!.on('data', chunk => (printed += chunk))
  const [code] = await once(child, 'close')
  return { code, printed }
}
