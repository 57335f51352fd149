import type { FastifyBaseLogger } from 'fastify'

/** Arguments are passed on unchanged. */
type Words = [line: never]

/**
 * The log of one request: its lines carry the trace id. Most requests log nothing, so the child logger is created on
 * demand.
 */
class RequestLog {
  readonly #log: FastifyBaseLogger
  readonly #bindings: Record<string, unknown>
  #child: FastifyBaseLogger | null = null

  constructor(log: FastifyBaseLogger, bindings: Record<string, unknown>) {
    this.#log = log
    this.#bindings = bindings
  }

  get #own(): FastifyBaseLogger {
    this.#child ??= this.#log.child(this.#bindings)
    return this.#child
  }

  get level(): string {
    return this.#log.level
  }

  fatal(...words: Words): void {
    this.#own.fatal(...words)
  }

  error(...words: Words): void {
    this.#own.error(...words)
  }

  warn(...words: Words): void {
    this.#own.warn(...words)
  }

  info(...words: Words): void {
    this.#own.info(...words)
  }

  debug(...words: Words): void {
    this.#own.debug(...words)
  }

  trace(...words: Words): void {
    this.#own.trace(...words)
  }

  silent(): void {}

  child(...words: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#own.child(...words)
  }
}

/** Fastify's way to a request's log. */
export const requestLog = (log: FastifyBaseLogger, bindings: Record<string, unknown>): FastifyBaseLogger =>
  new RequestLog(log, bindings) as unknown as FastifyBaseLogger
