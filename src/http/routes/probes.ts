import type { FastifyInstance } from 'fastify'
import type { Store } from '../../store/store.ts'
import type { UpstreamTable } from '../../upstream/table.ts'
import { PROBE } from './common-fields.ts'
import type { PlainContract, ValueOf } from './contract.ts'

const LIVE = {
  summary: 'Whether the process answers',
  plain: [
    {
      status: 200,
      description: 'It does.',
      type: 'application/json',
      schema: {
        type: 'object',
        properties: { status: { type: 'string', enum: ['ok'], description: 'How it is.' } },
        required: ['status'],
      },
      example: { status: 'ok' },
    },
  ],
} as const satisfies PlainContract

const TARGET = {
  type: 'object',
  properties: {
    target: { type: 'string', description: 'Its address.' },
    state: { type: 'string', description: 'Whether requests go there.' },
    weight: { type: 'integer', description: 'Its share of the requests among the targets; 0: no new requests.' },
    open: { type: 'integer', description: 'Requests under way.' },
    waiting: { type: 'integer', description: 'Those of them that wait for a connection.' },
  },
  required: ['target', 'state', 'weight', 'open', 'waiting'],
} as const

const STATE = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ok', 'unavailable', 'stopping'], description: 'How it is.' },
    store: { type: 'string', enum: ['ok', 'unavailable'], description: 'How it is.' },
    warnings: {
      type: 'array',
      items: { type: 'string' },
      description:
        'Unwise settings, an accounts file that has faults or cannot be written, a certificate that expires, and risks in the way the store is set up.',
    },
    upstreams: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Its name.' },
          targets: { type: 'array', items: TARGET, description: 'Its targets.' },
        },
        required: ['name', 'targets'],
      },
      description: 'Upstreams, as this process sees them; they decide nothing.',
    },
  },
  required: ['status'],
} as const

const READY = {
  summary: 'Whether the gateway accepts requests and its store answers',
  plain: [
    {
      status: 200,
      description: 'Both.',
      type: 'application/json',
      schema: STATE,
      example: { status: 'ok', store: 'ok', warnings: [], upstreams: [] },
    },
    {
      status: 503,
      description: 'It stops, or the store does not answer.',
      type: 'application/json',
      schema: STATE,
      example: { status: 'unavailable', store: 'unavailable', warnings: [], upstreams: [] },
    },
  ],
} as const satisfies PlainContract

interface ProbeOptions {
  store: Store
  /** Unwise settings and faults that last. Nothing in them is secret, because these routes need no secret. */
  warnings(): readonly string[]
  upstreams: UpstreamTable
  isStopping(): boolean
}

/**
 * `/livez`: the process answers. `/readyz`: it accepts requests and the store answers too; what an operator should know
 * of it comes along. Upstreams are shown as this process sees them and decide nothing: a backend that is away must not
 * take the gateway away from all the others.
 */
export function serveProbes(app: FastifyInstance, options: ProbeOptions): void {
  app.get('/livez', { config: { documented: { ...PROBE, ...LIVE } } }, async () => ({ status: 'ok' }))
  app.get('/readyz', { config: { documented: { ...PROBE, ...READY } } }, async (_request, reply) => {
    const isStopping = options.isStopping()
    const state = isStopping ? ({ status: 'stopping' } as const) : await stateOf(options, reply.log)
    return reply.code(state.status === 'ok' ? 200 : 503).send(state)
  })
}

async function stateOf(
  { store, warnings, upstreams }: ProbeOptions,
  log: FastifyInstance['log'],
): Promise<ValueOf<typeof STATE>> {
  try {
    await store.ping()
    const all = [...warnings(), ...(await store.warnings())]
    return { status: 'ok', store: 'ok', warnings: all, upstreams: upstreams.status() }
  } catch (err) {
    log.warn({ err }, 'not ready')
    return { status: 'unavailable', store: 'unavailable', warnings: [...warnings()], upstreams: upstreams.status() }
  }
}
