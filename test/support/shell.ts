import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { run } from './command-line.ts'
import { type Block, blocksOf, GUIDE, README } from './documents.ts'
import { temporaryFolder } from './image.ts'
import { type GatewayProcess, startGateway } from './process.ts'
import { ROOT } from './root.ts'

/*
 * The commands of README and guide, run as they stand. A comment that ends with a period explains; any other one is what
 * the commands above it print, with … for what differs from run to run.
 */

export const COMMANDS: readonly Block[] = [README, GUIDE]
  .flatMap(blocksOf)
  .filter(({ language }) => /^(?:sh|bash|shell|console)$/.test(language))

/** The blocks of a task, in their order. */
export const blocksAt = (heading: string): string[] =>
  COMMANDS.filter(block => block.heading === heading).map(({ text }) => text)

/** Where commands are typed, and the addresses of the gateway that they reach. */
type Place = Pick<GatewayProcess, 'folder' | 'url' | 'internal'>

interface Shell {
  child: ChildProcess
  printed(): string
}

/** Where the answers of the gateway are kept: those, too, that a command keeps in a variable. */
export const ANSWERS = '.answers'

const MAIN = join(ROOT, 'dist/main.js')
/** The command, in a shell. The path of this folder may contain blanks. */
const DUALGATE = `'${process.execPath}' '${MAIN}'`

/** What a user has typed before: the command on the path, and the addresses of this gateway in place of the shipped ones. */
export function openShell(gateway: Place, script: string, replace: Record<string, string> = {}): Shell {
  const places: Record<string, string> = {
    'http://localhost:8080': gateway.url,
    'http://localhost:8081': gateway.internal,
    'npx dualgate': DUALGATE,
    // The command reads the port of the internal listener from the settings.
    'dualgate explain --live': `INTERNAL__PORT=${new URL(gateway.internal).port} dualgate explain --live`,
    ...replace,
  }
  const commands = Object.entries(places).reduce((text, [from, to]) => text.replaceAll(from, to), script)
  const prelude = [
    `dualgate() { ${DUALGATE} "$@"; }`,
    `curl() { command curl "$@" | tee -a "$HOME/${ANSWERS}"; }`,
  ].join('\n')
  const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', `${prelude}\n${commands}`], {
    cwd: gateway.folder,
    env: { PATH: process.env.PATH, HOME: gateway.folder, ...ENVIRONMENT },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', chunk => (printed += chunk))
  return { child, printed: () => printed }
}

/** Of the gateway and of the commands, as it is with an operator who has exported them. */
const ENVIRONMENT = { LISTEN__PORT: '0', LISTEN__HOST: '127.0.0.1', INTERNAL__PORT: '0', WORKERS: '2' }

/** What the comments promise, in order, with white space as one space. */
export function expectPromises(t: Test, script: string, printed: string): void {
  const plain = (text: string): string => text.replace(/\s+/g, ' ').trim()
  let rest = plain(printed)
  const promised = [...script.matchAll(/^# (.*[^.\n])$/gm)].map(([, line]) => line!)
  for (const line of promised) {
    for (const part of line.split('…').map(plain)) {
      const at = rest.indexOf(part)
      if (!t.ok(at >= 0, `printed: ${line}`)) {
        t.comment(printed)
        return
      }
      rest = rest.slice(at + part.length)
    }
  }
}

/** Runs commands in the folder of a gateway to their end. */
export async function runScript(
  t: Test,
  gateway: Place,
  script: string,
  replace?: Record<string, string>,
): Promise<void> {
  const { child, printed } = openShell(gateway, script, replace)
  child.stdin!.end()
  const [code] = await once(child, 'close')
  if (!t.equal(code, 0, 'every command succeeds')) t.comment(printed())
  expectPromises(t, script, printed())
}

/** A folder as after `npm install dualgate`. */
export function installedFolder(t: Test): string {
  const folder = temporaryFolder(t, 'installed')
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** A gateway in a folder of its own, with the files that `dualgate init` writes. */
export async function initiated(t: Test): Promise<GatewayProcess> {
  const folder = installedFolder(t)
  await run(folder, ['init'])
  return startedIn(t, folder)
}

/** Starts with the configuration in the folder, or without one. */
export async function startedIn(t: Test, folder: string): Promise<GatewayProcess> {
  const gateway = await startGateway(folder, ENVIRONMENT, [MAIN])
  t.teardown(() => gateway.end('SIGKILL'))
  return gateway
}
