import { Agent } from 'node:http'
import type { Test } from 'tap'
import { type Answer, type Call, call } from './client.ts'
import { someone } from './gateway-fixture.ts'
import type { Supervised } from './supervised.ts'
import { until } from './until.ts'

/** A connection that one worker of a gateway has accepted: what is sent on it, this worker answers. */
export interface WorkerClient {
  gateway: Supervised
  pid: number
  call(options: Call): Promise<Answer>
  /** The worker that answers now. Another one than `pid` if the connection was lost. */
  answeredBy(): Promise<number>
}

/** Connects to each worker of a gateway that logs its requests. */
export async function connectWorkers(
  t: Test,
  gateway: Supervised,
  localAddress = '127.0.0.1',
): Promise<WorkerClient[]> {
  const clients = new Map<number, WorkerClient>()
  const workers = gateway.workers()
  while (clients.size < workers.length) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.teardown(() => agent.destroy())
    const send = (options: Call) => call(gateway.url, { ...options, agent, localAddress })
    const answeredBy = () => workerOf(gateway, send)
    const pid = await answeredBy()
    if (workers.includes(pid) && !clients.has(pid)) clients.set(pid, { gateway, pid, call: send, answeredBy })
    else agent.destroy()
  }
  return [...clients.values()]
}

/** Which worker answers a request, by the line that it logs. */
async function workerOf(gateway: Supervised, send: WorkerClient['call']): Promise<number> {
  const id = someone()
  await send({ path: '/', headers: { 'x-request-id': id } })
  const line = await until(() => gateway.logged('request').find(({ trace_id }) => trace_id === id))
  return line.pid
}
