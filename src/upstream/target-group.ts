import { within } from '../base/deadline.ts'
import type { Logger } from '../base/log/log.ts'
import type { WeightedTarget } from '../settings/targets.ts'
import type { Balance } from './balance/balance.ts'
import type { HealthChecks } from './health-checks.ts'
import { type LookUp, LookUps } from './look-ups.ts'
import { readAddress } from './target-address.ts'
import type { HttpTarget } from './targets.ts'

export interface TargetGroupOptions {
  /** Name of the upstream in log lines. */
  name: string
  /** The configured servers. */
  servers: readonly WeightedTarget[]
  /** How often names are looked up, in milliseconds; `null` for not at all. */
  resolve: number | null
  lookUp: LookUp
  /** How long a start waits for the first look-ups, in milliseconds. */
  patience: number
  /** Makes the target of a server, or of one address of its name. */
  open(server: WeightedTarget, ip: string | null): HttpTarget
  /** `null` where targets are not checked. */
  check(target: HttpTarget): HealthChecks | null
  balance(targets: readonly HttpTarget[]): Balance
  log: Pick<Logger, 'info' | 'warn'> | undefined
}

interface Member {
  readonly target: HttpTarget
  readonly checks: HealthChecks | null
}

/**
 * The targets of an upstream as they are now. A server whose name is looked up is one target for each of its addresses; until
 * the first look-up it is one target, whose connections resolve the name. A target whose address is gone gets no new
 * requests; those that it has finish.
 */
export class TargetGroup {
  readonly #options: TargetGroupOptions
  /** Of each server, in their order. */
  readonly #members: Member[][]
  readonly #lookUps: LookUps[]
  /** Targets that are gone, with requests that are not. */
  #retired: HttpTarget[] = []
  readonly #targets: HttpTarget[] = []
  #balance: Balance

  constructor(options: TargetGroupOptions) {
    this.#options = options
    this.#members = options.servers.map(server => [this.#open(server, null)])
    this.#lookUps = options.servers.flatMap((server, index) => this.#lookUpsOf(server, index))
    this.#balance = this.#rebuild()
  }

  /** Always the same array, so that others can keep it. */
  get targets(): readonly HttpTarget[] {
    return this.#targets
  }

  get balance(): Balance {
    return this.#balance
  }

  /** Begins look-ups and checks. Resolves when every name has been looked up once, or after a while. */
  async start(): Promise<void> {
    for (const { checks } of this.#members.flat()) checks?.start()
    if (this.#lookUps.length === 0) return
    const lookUps = Promise.all(this.#lookUps.map(lookUps => lookUps.start()))
    await within<unknown>(this.#options.patience, lookUps, () => undefined)
  }

  close(): void {
    for (const lookUps of this.#lookUps) lookUps.stop()
    for (const { checks } of this.#members.flat()) checks?.stop()
    for (const target of [...this.#targets, ...this.#retired]) target.close()
  }

  #open(server: WeightedTarget, ip: string | null): Member {
    const target = this.#options.open(server, ip)
    return { target, checks: this.#options.check(target) }
  }

  #lookUpsOf(server: WeightedTarget, index: number): LookUps[] {
    const { resolve, lookUp, name: upstream, log } = this.#options
    if (resolve === null) return []
    const { isName, hostname: name, url } = readAddress(server.url)
    if (!isName) return []
    const onFound = (addresses: readonly string[]): void => this.#found(index, addresses)
    const onFailed = (err: Error): void => log?.warn({ upstream, target: url, err }, 'look-up of a target failed')
    return [new LookUps({ name, interval: resolve, lookUp, onFound, onFailed })]
  }

  /** The name of a server has these addresses now. */
  #found(index: number, addresses: readonly string[]): void {
    const server = this.#options.servers[index]!
    const before = this.#members[index]!
    const present = addresses.map(ip => before.find(({ target }) => target.address.ip === ip) ?? this.#open(server, ip))
    const gone = before.filter(member => !present.includes(member))
    const come = present.filter(member => !before.includes(member))
    if (gone.length === 0 && come.length === 0) return
    this.#members[index] = present
    this.#balance = this.#rebuild()
    for (const { checks } of come) checks?.start()
    for (const member of gone) this.#retire(member)
    const { name: upstream, log } = this.#options
    log?.info({ upstream, target: server.url, addresses }, 'addresses of a target changed')
  }

  #rebuild(): Balance {
    const targets = this.#members.flat().map(({ target }) => target)
    this.#targets.splice(0, this.#targets.length, ...targets)
    return this.#options.balance(targets)
  }

  #retire({ target, checks }: Member): void {
    checks?.stop()
    target.retire()
    this.#retired = [...this.#retired, target].filter(({ open }) => open > 0)
  }
}
