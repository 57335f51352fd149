import {
  Counter,
  type CounterConfiguration,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  Registry,
} from 'prom-client'
import type { Snapshot } from './exposition.ts'

/** A metric without the place where it is published. */
type Described<C> = Omit<C, 'registers'>

/**
 * Where the parts of a process publish their metrics. Each part defines its own, beside what it counts; config/README.md lists
 * their names. A metric with `collect` is read whenever metrics are requested.
 */
export class Meter {
  readonly #registry: Registry
  readonly #others: (() => Snapshot)[] = []

  constructor(registry: Registry = new Registry()) {
    this.#registry = registry
  }

  counter<L extends string>(metric: Described<CounterConfiguration<L>>): Counter<L> {
    return new Counter({ ...metric, registers: [this.#registry] })
  }

  gauge<L extends string>(metric: Described<GaugeConfiguration<L>>): Gauge<L> {
    return new Gauge({ ...metric, registers: [this.#registry] })
  }

  histogram<L extends string>(metric: Described<HistogramConfiguration<L>>): Histogram<L> {
    return new Histogram({ ...metric, registers: [this.#registry] })
  }

  /** Publishes metrics that a part keeps in a form of its own. */
  include(read: () => Snapshot): void {
    this.#others.push(read)
  }

  /** All metrics, with the present values of what they read. */
  async snapshot(): Promise<Snapshot> {
    return [...(await this.#registry.getMetricsAsJSON()), ...this.#others.flatMap(read => read())]
  }
}
