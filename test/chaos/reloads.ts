import { spawn } from 'node:child_process'
import { startLoad } from '../process/load.ts'
import { startSupervised } from '../support/supervised.ts'

export interface ReloadsReport {
  requests: number
  reloads: number
  /** What failed, one text for each request. */
  failures: string[]
  /** Reloads that were refused. */
  refused: string[]
}

/** Reloads a gateway on Redis again and again, beside a process that keeps one core busy, until so many requests were answered. */
export async function reloadUnderLoad(requests: number): Promise<ReloadsReport> {
  const ends: (() => unknown)[] = []
  const t = { teardown: (end: () => unknown) => void ends.unshift(end) }
  try {
    const gateway = await startSupervised(t, { store: 'redis' })
    const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
    t.teardown(() => busy.kill('SIGKILL'))
    const load = startLoad(t, gateway.url, {
      token: gateway.token,
      path: '/api/v1/c/x',
      clients: 24,
      rate: 300,
      // The configuration of the test rewrites /api.
      expected: '/first/v1/c/x',
    })
    const refused: string[] = []
    let reloads = 0
    while (load.outcome.answered + load.outcome.failures.length < requests) {
      const { code, errors } = await gateway.reload()
      if (code === 0) reloads++
      else refused.push(errors)
    }
    const { answered, failures } = await load.stop()
    return { requests: answered + failures.length, reloads, failures, refused }
  } finally {
    for (const end of ends) await end()
  }
}
