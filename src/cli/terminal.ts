import { plain } from '../base/log/terminal-line.ts'
import { packageForNpx } from './npx.ts'

/** The input and output of a command. */
export interface Terminal {
  input: NodeJS.ReadStream
  output: NodeJS.WritableStream
  errors: NodeJS.WritableStream
  environment: NodeJS.ProcessEnv
  cwd: string
}

/** Writes lines. What a file, a server or a client has put into them does not control the terminal. */
export const say = (stream: NodeJS.WritableStream, ...lines: string[]): void => {
  stream.write(lines.map(line => `${line.split('\n').map(plain).join('\n')}\n`).join(''))
}

/** How a person starts this program: npx runs it although it is in no PATH. */
export const programOf = ({ environment, cwd }: Terminal): string =>
  environment.npm_command === 'exec' ? `npx ${packageForNpx(cwd)}` : 'dualgate'

/** A usage error. Its message describes the fault of the command line. */
export class UsageError extends Error {}

/** A command that failed, with the reason for the user. */
export class CommandError extends Error {}

/** The whole standard input as one text, without the line break at its end. */
export async function readAll(input: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Buffer))
  return Buffer.concat(chunks)
    .toString()
    .replace(/\r?\n$/, '')
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
