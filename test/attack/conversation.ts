import { connect } from 'node:net'
import { PATIENCE } from '../support/until.ts'
import { HttpReader, isInformational, type Message } from './http-reader.ts'

/** What came back on one connection. */
export interface Conversation {
  responses: Message[]
  /** Bytes behind the last whole response. */
  rest: string
  /** Whether the other end closed the connection, or a time limit of ours did. */
  end: 'closed' | 'reset' | 'silent'
}

export interface ConverseOptions {
  /** Methods of the requests that are sent, in their order: an answer to HEAD has no body. */
  methods: readonly string[]
  /** Answers after which nothing more is waited for; without it the other end has to close. */
  enough?: number
}

/** Sends bytes as they are on a connection of its own, and reads answers strictly. */
export function converse(url: string, bytes: string, options: ConverseOptions): Promise<Conversation> {
  const { methods, enough = Number.POSITIVE_INFINITY } = options
  const { hostname, port } = new URL(url)
  const responses: Message[] = []
  const reader = new HttpReader('responses', (line, index) => isBodiless(line, methods[index]))
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes, 'latin1'))
    const finish = (end: Conversation['end']): void => {
      socket.destroy()
      resolve({ responses, rest: reader.rest, end })
    }
    socket.setTimeout(PATIENCE, () => finish('silent'))
    socket.on('data', chunk => {
      try {
        responses.push(...reader.read(chunk))
        if (answered(responses) >= enough) finish('closed')
      } catch (fault) {
        socket.destroy()
        reject(fault)
      }
    })
    socket.on('end', () => finish('closed'))
    socket.on('error', () => finish('reset'))
  })
}

/** Final answers. */
const answered = (responses: readonly Message[]): number =>
  responses.filter(({ line }) => !isInformational(line)).length

const isBodiless = (line: string, method: string | undefined): boolean =>
  method === 'HEAD' || isInformational(line) || / (204|304) /.test(line)
