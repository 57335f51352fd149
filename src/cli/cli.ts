import { parseArgs } from 'node:util'
import { faultText } from '../base/fault-text.ts'
import { packageVersion } from '../base/package-version.ts'
import { Refusal, Unavailable } from '../base/refusal.ts'
import { failureMessage, faultOfField } from '../http/server/failure-texts.ts'
import { reportCrashes } from '../process/crash-report.ts'
import { ConfigurationError, suggest } from '../settings/notation/fault.ts'
import type { Command } from './command.ts'
import { serves } from './serves.ts'
import { CommandError, say, type Terminal, UsageError, writeFaultsOf } from './terminal.ts'

/** Each command is loaded when it is used, so that a start does not load the others. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('./init.ts')).init,
  start: async () => (await import('./start.ts')).start,
  reload: async () => (await import('./reload.ts')).reload,
  check: async () => (await import('./check.ts')).check,
  explain: async () => (await import('./explain.ts')).explain,
  'explain-login': async () => (await import('./explain-login.ts')).explainLogin,
  account: async () => (await import('./account.ts')).account,
  key: async () => (await import('./key.ts')).key,
  keys: async () => (await import('./keys.ts')).keys,
  reindex: async () => (await import('./reindex.ts')).reindex,
  adopt: async () => (await import('./adopt/adopt.ts')).adopt,
}

/** Runs the command line of this process. */
export async function runProcess(): Promise<void> {
  reportCrashes()
  const cwd = workingDirectory()
  if (cwd === null) {
    say(process.stderr, 'dualgate: the working directory was removed; change to another one, and try again')
    process.exitCode = 1
    return
  }
  process.exitCode = await runCommand(process.argv.slice(2), {
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
    environment: process.env,
    cwd,
  })
}

/** `null` if it was removed. */
function workingDirectory(): string | null {
  try {
    return process.cwd()
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw fault
  }
}

/** Runs one command line and answers its exit code: 0 for success, 1 for a failure, 2 for a usage error. */
export async function runCommand(words: readonly string[], terminal: Terminal): Promise<number> {
  const faults = writeFaultsOf(terminal)
  try {
    const code = await dispatch(words, terminal)
    return serves(words) ? code : await codeWhenWritten(code, terminal, faults)
  } catch (fault) {
    return explainFault(fault, words[0], terminal)
  }
}

/**
 * The exit code of a command when its lines are written, or when they cannot be: it has then failed. Only a gateway goes on. A
 * reader that has left, such as `head`, needs no reason.
 */
async function codeWhenWritten(
  code: number,
  { output, errors }: Terminal,
  faults: ReturnType<typeof writeFaultsOf>,
): Promise<number> {
  await Promise.all([say(output), say(errors)])
  if (faults.size === 0) return code
  const fault = faults.get(output)
  if (fault !== undefined && fault.code !== 'EPIPE')
    throw new CommandError(`standard output cannot be written: ${fault.message}`)
  return Math.max(code, 1)
}

async function dispatch([name, ...rest]: readonly string[], terminal: Terminal): Promise<number> {
  if (name === undefined) return (await import('./start.ts')).startHere(terminal)
  if (name === '--help' || name === '-h' || name === 'help') return printed(terminal, await overview())
  if (name === '--version' || name === '-v') return printed(terminal, packageVersion())
  const command = Object.hasOwn(COMMANDS, name) ? await COMMANDS[name]!() : null
  if (command === null)
    throw new UsageError(`unknown command ${name}${suggest(name, Object.keys(COMMANDS), 'Commands')}`)
  const { values, positionals } = parse(rest, command)
  if (values.help === true) return printed(terminal, helpOf(name, command))
  return command.run({ values, words: positionals }, terminal)
}

function parse(args: string[], { options }: Command) {
  try {
    const all = { ...options, help: { type: 'boolean', short: 'h' } } as const
    return parseArgs({ args, options: all, allowPositionals: true, strict: true })
  } catch (fault) {
    throw new UsageError((fault as Error).message)
  }
}

function explainFault(fault: unknown, name: string | undefined, { errors }: Terminal): number {
  if (fault instanceof UsageError) {
    const command = name !== undefined && Object.hasOwn(COMMANDS, name) ? `dualgate ${name}` : 'dualgate'
    say(errors, `${command}: ${fault.message}`, `Try: ${command} --help`)
    return 2
  }
  if (fault instanceof ConfigurationError) {
    const count = fault.faults.length
    say(errors, fault.message, `${count} ${count === 1 ? 'fault' : 'faults'} in the configuration`)
    return 1
  }
  if (fault instanceof CommandError) say(errors, `dualgate: ${fault.message}`)
  else if (fault instanceof Unavailable) say(errors, `dualgate: ${faultText(fault.cause)}`)
  else if (fault instanceof Refusal) say(errors, `dualgate: ${refusalText(fault)}`)
  else if (isSystemFault(fault)) say(errors, `dualgate: ${faultText(fault)}`)
  else throw fault
  return 1
}

const refusalText = ({ reason, params }: Refusal): string =>
  reason === 'INVALID' ? `${params.field} ${faultOfField(params, 'en')}` : failureMessage(reason, params, 'en')

/** An error of the operating system about a file, a folder or a disk. */
const isSystemFault = (fault: unknown): fault is Error => fault instanceof Error && 'syscall' in fault

function printed({ output }: Terminal, text: string): number {
  say(output, text)
  return 0
}

async function overview(): Promise<string> {
  const commands = Object.entries(COMMANDS).map(async ([name, load]) => `  ${name.padEnd(15)}${(await load()).summary}`)
  return `dualgate: a gateway that signs users in, keeps their sessions and lets only live ones through to your backends

Usage: dualgate [COMMAND [options]]

${(await Promise.all(commands)).join('\n')}

  dualgate                  starts the gateway; without a configuration, with built-in defaults and the folder data
  dualgate COMMAND --help   the help of a command
  dualgate --version        the version`
}

const helpOf = (name: string, { words, summary, help }: Command): string =>
  `dualgate ${name}: ${summary}\n\nUsage: dualgate ${[name, words, '[options]'].filter(part => part !== '').join(' ')}\n\n${help}`
