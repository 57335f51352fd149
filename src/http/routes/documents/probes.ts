import type { Description, PlainAnswer } from '../../pages/description.ts'
import { type JsonSchema, list, object, text, whole } from '../../pages/json-schema.ts'

const state = (...values: string[]): JsonSchema => text('How it is.', { enum: values })
const Target = object({
  target: text('Its address.'),
  state: text('Whether requests go there.'),
  open: whole('Requests under way.'),
  waiting: whole('Those of them that wait for a connection.'),
})

const Ready = object(
  {
    status: state('ok', 'unavailable', 'stopping'),
    store: state('ok', 'unavailable'),
    warnings: list(text('In words.'), 'What is unwise about the way the store is set up.'),
    upstreams: list(
      object({ name: text('Its name.'), targets: list(Target, 'Its targets.') }),
      'Upstreams, as this process sees them; they decide nothing.',
    ),
  },
  { optional: ['store', 'warnings', 'upstreams'] },
)

const probe = { group: 'probes', side: null, needs: 'nothing' } as const

export const describeLive: Description = {
  ...probe,
  summary: 'Whether the process answers',
  plain: [
    {
      status: 200,
      what: 'It does.',
      type: 'application/json',
      schema: object({ status: state('ok') }),
      example: { status: 'ok' },
    },
  ],
}

export const describeReady: Description = {
  ...probe,
  summary: 'Whether the gateway accepts requests and its store answers',
  plain: [
    {
      status: 200,
      what: 'Both.',
      type: 'application/json',
      schema: Ready,
      example: { status: 'ok', store: 'ok', warnings: [], upstreams: [] },
    },
    {
      status: 503,
      what: 'It stops, or the store does not answer.',
      type: 'application/json',
      schema: Ready,
      example: { status: 'unavailable', store: 'unavailable', warnings: [], upstreams: [] },
    },
  ],
}

export const describeMetrics: Description = {
  ...probe,
  summary: 'What the gateway counts, for Prometheus',
  plain: [
    {
      status: 200,
      what: 'The text format of Prometheus, over all workers.',
      type: 'text/plain',
      schema: { type: 'string' },
      example: '# TYPE dualgate_requests_total counter\n',
    },
  ],
}

const refusal = (status: number, what: string, code: number, message: string): PlainAnswer => ({
  status,
  what,
  type: 'application/json',
  schema: { $ref: '#/components/schemas/Refusal' },
  example: { code, message, data: null, success: false, trace_id: '0af7651916cd43dd8448eb211c80319c' },
})

export const describeVerify: Description = {
  ...probe,
  summary: 'The decision of the gate, for proxies that forward themselves',
  details:
    'The original request is named by X-Original-URI and X-Original-Method, by X-Forwarded-Uri and X-Forwarded-Method, ' +
    'or by its path behind /verify. Requests with identity headers of their own, in any spelling, are refused with 403.',
  plain: [
    {
      status: 200,
      what: 'It passes; X-Login-Id and X-Login-Type say whose session it is, and are empty where none is needed.',
      type: 'text/plain',
      schema: { type: 'string' },
      example: '',
    },
    refusal(401, 'A session is missing.', 401, 'Not logged in'),
    refusal(
      403,
      'It is refused whatever the session; `code` says how the gateway itself would answer.',
      404,
      'Not found',
    ),
    refusal(503, 'The store does not answer.', 503, 'Service unavailable'),
  ],
}
