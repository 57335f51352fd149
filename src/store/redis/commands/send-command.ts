import { Deadline } from '../../../base/deadline.ts'
import { Unavailable } from '../../../base/refusal.ts'
import type { RedisClient } from '../connection/client.ts'
import { summaryOf } from '../connection/fault.ts'
import { silenceOf } from '../connection/silence.ts'

/** Stands for a connection on which commands may go out. */
export interface CheckedServer {
  /** Differs wherever the data may differ. */
  readonly id: string
}

export interface Gate {
  /** `null` while no command may go out. */
  readonly server: CheckedServer | null
  /** The server whose answers count: a late answer, on a connection that came after it, does not. */
  readonly answering: CheckedServer | null
  /** Calls once, when commands may go out (`true`) or the connection is lost (`false`). */
  whenOpen(then: (isOpen: boolean) => void): void
}

/** Sends one command to Redis, for one or more requests. Throws `Unavailable` when Redis does not answer it in time. */
export type Ask = <T>(command: () => Promise<T>, requests?: number) => Promise<T>

/** Requests without an answer, over all clients; beyond it Redis is as good as stuck. */
const MAX_UNDER_WAY = 10_000
/** Before a command is sent again that a node of a Cluster refused for its slot, in milliseconds. */
const REDIRECTION_PAUSE = 20

/**
 * Nothing was done, because the slot of the command is moving or has moved. The library follows such an answer by itself, but
 * not where other commands in the same pipeline were answered otherwise, or are meant for another node by now.
 */
const REDIRECTION = /^(?:(?:ASK|MOVED|TRYAGAIN) |Too many Cluster redirections|All keys in the pipeline should belong)/

export const isRedirection = ({ message }: Error): boolean => REDIRECTION.test(message)

/** Whether Redis refused a command because a key is of another type: it will refuse it again. */
export const isOfWrongType = (fault: unknown): boolean =>
  fault instanceof Unavailable && (fault.cause as Error).message === textOf('WRONGTYPE')

const textOf = (why: string): string => `Redis: ${why}`

/**
 * A command that was given up may still be answered, and counts until it is. Commands wait while the server is checked that
 * a new connection has reached; an answer of another server than the checked one is not accepted.
 */
export function createAsk(client: RedisClient, timeout: number, gate: Gate): Ask {
  const silence = silenceOf(client)
  let underWay = 0
  return <T>(command: () => Promise<T>, requests = 1) =>
    new Promise<T>((resolve, reject) => {
      const refuse = (why: string): void => reject(new Unavailable(textOf(why)))
      if (client.status !== 'ready') return refuse('not connected')
      if (underWay >= MAX_UNDER_WAY) return refuse('too many commands are without an answer')
      underWay += requests
      let isGivenUp = false
      const deadline = new Deadline(timeout, () => {
        isGivenUp = true
        refuse('no answer in time')
        silence?.late()
      })
      const settled = (): void => {
        underWay -= requests
        deadline.clear()
      }
      const send = (server: CheckedServer): void => {
        silence?.sent()
        command().then(
          answer => {
            silence?.settled()
            settled()
            if (gate.answering === server) resolve(answer)
            else refuse('the connection is another one by now')
          },
          error => {
            silence?.settled()
            if (isRedirection(error)) return void setTimeout(sendAgain, REDIRECTION_PAUSE, server)
            settled()
            refuse(summaryOf(error))
          },
        )
      }
      const sendAgain = (server: CheckedServer): void => (isGivenUp ? settled() : send(server))
      if (gate.server !== null) return send(gate.server)
      gate.whenOpen(isOpen => {
        if (isOpen && !isGivenUp && gate.server !== null) return send(gate.server)
        settled()
        refuse('not connected')
      })
    })
}
