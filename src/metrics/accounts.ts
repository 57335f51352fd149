import { Counter, Gauge, type Registry } from 'prom-client'
import { LOGIN_TYPES, type LoginType } from '../session.ts'

/** What is read from the account sources when metrics are requested. */
export interface AccountsSource {
  /** Whether a source has a fault that lasts, such as an invalid file. */
  isFaulty(type: LoginType): boolean
}

/** Counts the questions about accounts of sessions in use. */
export function countRechecks(registers: Registry[]): (side: LoginType, result: string) => void {
  const rechecks = new Counter({
    name: 'dualgate_account_rechecks_total',
    help: 'Questions about the account of a session in use: unchanged, ended or failed',
    labelNames: ['side', 'result'],
    registers,
  })
  return (side, result) => rechecks.inc({ side, result })
}

export function readAccounts(registers: Registry[], { isFaulty }: AccountsSource): void {
  new Gauge({
    name: 'dualgate_accounts_faulty',
    help: '1 when the accounts file has faults or is missing',
    labelNames: ['side'],
    aggregator: 'max',
    registers,
    collect() {
      for (const side of LOGIN_TYPES) this.set({ side }, isFaulty(side) ? 1 : 0)
    },
  })
}
