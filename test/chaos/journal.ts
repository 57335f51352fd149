import { until } from '../support/until.ts'
import { ask } from './ask.ts'
import type { History } from './history.ts'

/**
 * How long before a process was killed its logins may be missing, in milliseconds: it keeps events for a tenth of a second,
 * and for a second if the store has refused them. A busy machine takes longer.
 */
const UNWRITTEN = 2500

/** A login that was answered with a token. */
export interface Login {
  jti: string
  began: number
  acked: number
}

/** Every entry of logins in the journal, read page by page. */
async function loginsIn(url: string, token: string): Promise<{ id: string; jti: string | null }[]> {
  const found: { id: string; jti: string | null }[] = []
  for (let cursor = ''; ; ) {
    const path = `/api/v1/sys/journal/page?size=100&event=login&type=BUSINESS${cursor}`
    const { body } = await ask(url, path, { token })
    found.push(...body.data.records)
    if (body.data.next === null) return found
    cursor = `&cursor=${body.data.next}`
  }
}

/** How long acknowledged logins may take to come into the journal, in milliseconds. */
const LATE = 20_000

/** Those of the journal when it has all that were acknowledged, or is late. */
async function settledLogins(url: string, token: string, logins: readonly Login[]): ReturnType<typeof loginsIn> {
  const since = performance.now()
  return until(async () => {
    // A store that does not answer yet is asked again.
    const found = await loginsIn(url, token).catch(() => null)
    const jtis = new Set(found?.map(({ jti }) => jti))
    return logins.every(({ jti }) => jtis.has(jti)) || performance.now() - since > LATE ? found : null
  })
}

/** Judges the journal at the end: acknowledged logins are in it once, but those of which no process knows any more. */
export async function judgeJournal(
  url: string,
  token: string,
  logins: readonly Login[],
  history: History,
): Promise<void> {
  const found = await settledLogins(url, token, logins)
  if (new Set(found.map(({ id }) => id)).size < found.length) history.violated('the journal shows an entry twice')
  const counts = new Map<string | null, number>()
  for (const { jti } of found) counts.set(jti, (counts.get(jti) ?? 0) + 1)
  for (const { jti, began, acked } of logins) {
    const count = counts.get(jti) ?? 0
    if (count > 1) history.violated(`a login is in the journal ${count} times`)
    const isExcused = history.mayBeLost(acked) || history.wasKilled({ began, acked }, UNWRITTEN)
    if (count === 0 && !isExcused) history.violated(`a login is not in the journal${history.placeOf(acked)}`)
  }
  history.counts.journaled = found.length
}
