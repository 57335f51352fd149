/** What a command reads and writes. */
export interface Terminal {
  input: NodeJS.ReadStream
  output: NodeJS.WritableStream
  errors: NodeJS.WritableStream
  environment: NodeJS.ProcessEnv
  cwd: string
}

export const say = (stream: NodeJS.WritableStream, ...lines: string[]): void => {
  for (const line of lines) stream.write(`${line}\n`)
}

/** A command line that cannot be meant. Its message says what is wrong with it. */
export class UsageError extends Error {}

/** A command that could not do its work, with the reason in words for whoever called it. */
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

/** Asks for a text that does not appear on the screen. */
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

/** What is typed up to the Enter key. */
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
