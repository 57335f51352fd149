import { ConnectTimeout } from './connect.ts'

/** A target that received a request and did not answer in time. */
export class ResponseTimeout extends Error {
  constructor(limit: number) {
    super(`no head of a response after ${limit} ms`)
    this.name = 'ResponseTimeout'
  }
}

/** A target that closed the connection before it had read the body of a request, and before the head of its answer had arrived. */
export class BodyNotRead extends Error {
  constructor(cause: Error) {
    super('the target closed the connection before it had read the body', { cause })
    this.name = 'BodyNotRead'
  }
}

/** Whether this is the end of a connection that a target has closed: in order, or by a reset. */
export const isClosed = ({ code }: Error & NodeJS.ErrnoException): boolean =>
  code === undefined || code === 'EPIPE' || code === 'ECONNRESET'

/** Whether a target has closed a connection that was being written to. */
export const isClosedForWriting = ({ syscall, code }: Error & NodeJS.ErrnoException): boolean =>
  syscall === 'write' && (code === 'EPIPE' || code === 'ECONNRESET')

/** Whether a target failed by being too slow. */
export const isTimeout = (error: Error): boolean =>
  error instanceof ConnectTimeout ||
  error instanceof ResponseTimeout ||
  (error as NodeJS.ErrnoException).code === 'ETIMEDOUT'
