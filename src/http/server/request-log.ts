import type { FastifyBaseLogger } from 'fastify'

/** Arguments are passed on unchanged. */
type Words = [line: never]

/**
 * The log of one request: its lines carry the trace id. Most requests log nothing, so the child logger is created on
 * demand.
 */
class RequestLog {
  readonly #log: FastifyBaseLogger
  readonly #open: () => FastifyBaseLogger
  #child: FastifyBaseLogger | null = null

  constructor(log: FastifyBaseLogger, open: () => FastifyBaseLogger) {
    this.#log = log
    this.#open = open
  }

  get #own(): FastifyBaseLogger {
    this.#child ??= this.#open()
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

/**
 * Makes the log of each request lazily. The `child` of the listener's own logger is replaced, because Fastify checks
 * method by method what a `childLoggerFactory` returns, for each request: that costs more than the rest of the log.
 */
export function logLazily(log: FastifyBaseLogger): void {
  const childOf = log.child.bind(log)
  log.child = (bindings, options) =>
    new RequestLog(log, () => childOf(bindings, options)) as unknown as FastifyBaseLogger
}
