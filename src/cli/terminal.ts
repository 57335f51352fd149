import { fstatSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { plain } from '../base/log/terminal-line.ts'
import { utf8Text } from '../settings/notation/utf8.ts'
import { nonBlocking } from '../workarounds/node-output.ts'
import { packageForNpx } from './npx.ts'

/** The input and output of a command. */
export interface Terminal {
  input: NodeJS.ReadStream
  output: NodeJS.WritableStream
  errors: NodeJS.WritableStream
  environment: NodeJS.ProcessEnv
  cwd: string
}

/**
 * Writes lines. What a file, a server or a client has put into them does not control the terminal. Resolves when they are
 * written, with the fault if they cannot be. It need not be awaited: a command whose lines are not all written fails at its end.
 */
export function say(stream: NodeJS.WritableStream, ...lines: string[]): Promise<Error | null> {
  const text = lines.map(line => `${line.split('\n').map(plain).join('\n')}\n`).join('')
  return new Promise(resolve => stream.write(text, fault => resolve(fault ?? null)))
}

/** The same for a process that goes on. While nothing reads them, the lines wait, and the process does not. */
export function sayMeanwhile(stream: NodeJS.WritableStream, ...lines: string[]): void {
  nonBlocking(stream)()
  void say(stream, ...lines)
}

/** Whether lines wait for a reader. They keep the process from ending by itself. */
export const isUnread = (stream: NodeJS.WritableStream & { writableLength?: number }): boolean =>
  (stream.writableLength ?? 0) > 0

/** Writes lines with a secret that is shown only now; if they cannot be written, says what is to be done instead. */
export async function sayOnce({ output, errors }: Terminal, lines: string[], otherwise: string): Promise<void> {
  if (isDiscarded(output) || (await say(output, ...lines)) !== null) say(errors, `dualgate: ${otherwise}`)
}

/** Fails with a `CommandError` before a secret is made that could not be seen when it is shown. */
export function refuseUnseen({ output }: Terminal, secret: string, remedy: string): void {
  if (isDiscarded(output))
    throw new CommandError(`standard output is closed or discarded, so ${secret} would not be seen; ${remedy}`)
}

/** Whether nothing reads what is written. For an output that is closed at its start, Node itself opens the null device. */
function isDiscarded({ fd }: NodeJS.WritableStream & { fd?: number }): boolean {
  if (fd === undefined) return false
  const [written, discarded] = [fstatSync(fd), statSync(devNull, { throwIfNoEntry: false })]
  return written.isCharacterDevice() && written.rdev === discarded?.rdev
}

/** Writes lines with a generated password, which the account has already. */
export const sayPassword = (terminal: Terminal, username: string, ...lines: string[]): Promise<void> =>
  sayOnce(
    terminal,
    lines,
    `the password of ${username} could not be shown; set another with \`dualgate account passwd ${username}\``,
  )

/** The faults of writing, by stream: the last of each, as they happen. Without a listener the first one would end the process. */
export function writeFaultsOf({ output, errors }: Terminal): ReadonlyMap<NodeJS.WritableStream, NodeJS.ErrnoException> {
  const faults = new Map<NodeJS.WritableStream, NodeJS.ErrnoException>()
  for (const stream of [output, errors]) stream.on('error', fault => faults.set(stream, fault))
  return faults
}

/** How a person starts this program: npx runs it although it is in no PATH. */
export const programOf = ({ environment, cwd }: Terminal): string =>
  environment.npm_command === 'exec' ? `npx ${packageForNpx(cwd)}` : 'dualgate'

/** A path as one word of a command that the user is to type. */
export const shellWord = (path: string): string =>
  /^[\w./:@+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`

/** A usage error. Its message describes the fault of the command line. */
export class UsageError extends Error {}

/** A command that failed, with the reason for the user. */
export class CommandError extends Error {}

/**
 * The whole standard input as one text, without the line break at its end. Fails with a `CommandError` for another encoding than
 * UTF-8: a password would be another one than its user types.
 */
export async function readAll(input: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Buffer))
  const text = utf8Text(Buffer.concat(chunks))
  if (text === null) throw new CommandError('standard input is not UTF-8 text; send it in this encoding')
  return text.replace(/\r?\n$/, '')
}

const ENTER = /[\r\n]/
const INTERRUPT = '\u0003'
const END = '\u0004'
const RUBOUT = /[\b\u007f]/

/** Prompts for a text that is not shown on the screen. */
export async function askHidden({ input, errors }: Terminal, question: string): Promise<string> {
  errors.write(question)
  input.setRawMode(true)
  input.setEncoding('utf8')
  input.resume()
  try {
    return await readTyped(input)
  } finally {
    input.setRawMode(false)
    input.pause()
    errors.write('\n')
  }
}

/** The text typed before the Enter key. */
function readTyped(input: NodeJS.ReadStream): Promise<string> {
  return new Promise((answered, failed) => {
    let typed = ''
    const read = (chunk: string): void => {
      for (const character of chunk) {
        const isEnter = ENTER.test(character)
        if (isEnter || character === INTERRUPT || character === END) {
          input.off('data', read)
          if (isEnter) answered(typed)
          else failed(new CommandError('interrupted'))
          return
        }
        typed = RUBOUT.test(character) ? [...typed].slice(0, -1).join('') : typed + character
      }
    }
    input.on('data', read)
  })
}
