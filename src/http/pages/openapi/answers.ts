import { ENDED } from '../../routes/common-fields.ts'
import type { Contract, DownloadContract, JsonSchema, Place, PlainAnswer } from '../../routes/contract.ts'
import { httpStatusOf, type StatusStyle } from '../../server/envelope.ts'
import { FAILURES, type Failure, failureMessage, inLocale, type Locale, SUCCESS } from '../../server/failure-texts.ts'

export interface AnswerOptions {
  locale: Locale
  /** It decides under which status a refusal is described. */
  style: StatusStyle
  /** Whether programs have keys, which these routes refuse where they need a session. */
  keys: boolean
}

/** The reasons for which every route may refuse a request. */
const ALWAYS: readonly Failure[] = ['BAD_REQUEST', 'UNAVAILABLE', 'INTERNAL']
/** For the placeholders of the texts. */
const SAMPLE = {
  field: 'user_id',
  fault: 'is missing',
  faults: 'min_length',
  min_length: 10,
  seconds: 42,
  minutes: 1,
  permissions: "['sys:session:page']",
}
/** `data` of the refusals that carry any. */
const SAMPLE_DATA: Partial<Record<Failure, object>> = {
  STEP_REQUIRED: { ticket: 'pT0u2mGq5bYk1Zr8wXc3Lh7dVfNs6JaE', required: 'password', expires_in: 300 },
  TICKET_INVALID: { required: 'login' },
  PASSWORD_NOT_ALLOWED: { faults: ['min_length', 'common'] },
  DISABLED: { disable_time: 42 },
}
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

export const plainResponses = (answers: readonly PlainAnswer[]): JsonSchema =>
  Object.fromEntries(
    answers.map(({ status, description, type, schema, example }) => [
      String(status),
      { description, content: { [type]: { schema: schema === 'Refusal' ? REFUSAL : schema, example } } },
    ]),
  )

type Described = Contract | DownloadContract

/** Answers by HTTP status: refusals that arrive with 200 stand beside the success, as they do on the wire. */
export function responsesOf(contract: Described & Place, { locale, style, keys }: AnswerOptions): JsonSchema {
  const refusals = [...new Set([...refusalsOf(contract, keys), ...ALWAYS])]
  const statuses = [...new Set([200, ...refusals.map(reason => httpStatusOf(reason, style))])].sort((a, b) => a - b)
  return Object.fromEntries(
    statuses.map(status => {
      const here = refusals.filter(reason => httpStatusOf(reason, style) === status)
      return [String(status), responseOf(status, here, contract, locale)]
    }),
  )
}

/** What a place and the fields of a contract imply, and what the contract names. */
const refusalsOf = ({ needs, permission, query, body, refusals = [] }: Described & Place, keys: boolean): Failure[] => [
  ...(needs === 'nothing' ? [] : needs === 'secret' ? (['WRONG_SECRET'] as const) : (['NOT_LOGGED_IN'] as const)),
  ...(permission === undefined ? [] : (['NOT_PERMITTED'] as const)),
  ...(!keys || needs === 'nothing' || needs === 'secret' ? [] : (['NOT_FOR_KEYS'] as const)),
  ...(query === undefined && body === undefined ? [] : (['INVALID'] as const)),
  ...(body === undefined ? [] : (['BODY_TOO_LARGE'] as const)),
  ...refusals,
]

function responseOf(
  status: number,
  refusals: readonly Failure[],
  contract: Described & Place,
  locale: Locale,
): JsonSchema {
  const isSuccess = status === 200
  const mayWait = refusals.some(reason => reason === 'TOO_MANY_ATTEMPTS' || reason === 'BUSY')
  return {
    description: isSuccess && refusals.length > 0 ? 'Done, or refused: see `code`.' : isSuccess ? 'Done.' : 'Refused.',
    headers: {
      'X-Request-Id': { type: 'string', description: 'The trace id, as in the body.' },
      ...(mayWait && { 'Retry-After': { type: 'integer', description: 'Seconds to wait, where it is known.' } }),
    },
    content: {
      ...(isSuccess && 'download' in contract && fileOf(contract)),
      ...contentOf(refusals, isSuccess && 'data' in contract ? contract.data : null, locale),
    },
  }
}

const fileOf = ({ download: { type, description, example } }: DownloadContract): JsonSchema => ({
  [type]: { schema: { type: 'string', description }, example },
})

/** The envelopes of an answer: of its refusals, and of its success if that is one. */
function contentOf(refusals: readonly Failure[], data: Contract['data'] | null, locale: Locale): JsonSchema {
  const refused = refusals.map(reason => [reason, { value: refusalExample(reason, locale) }] as const)
  if (data === null && refused.length === 0) return {}
  const schemas = [
    ...(data === null ? [] : [envelopeOf(data.schema as JsonSchema)]),
    ...(refused.length === 0 ? [] : [REFUSAL]),
  ]
  return {
    'application/json': {
      schema: schemas.length === 1 ? schemas[0] : { oneOf: schemas },
      examples: {
        ...(data !== null && { SUCCESS: { value: successExample(data.example, locale) } }),
        ...Object.fromEntries(refused),
      },
    },
  }
}

const ENVELOPE_TEXTS = {
  message: { type: 'string', description: 'In the configured language.' },
  trace_id: { type: 'string', description: 'Names the request in the log.' },
} as const satisfies JsonSchema

const envelopeOf = (data: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    code: { type: 'integer', description: '200.', const: 200 },
    data,
    success: { type: 'boolean', const: true },
    ...ENVELOPE_TEXTS,
  },
  required: ['code', 'message', 'data', 'success', 'trace_id'],
})

export const Refusal = {
  type: 'object',
  properties: {
    code: { type: 'integer', description: 'The status that the refusal means, whatever the HTTP status is.' },
    data: { description: `Mostly \`null\`; the examples show what else it may hold. ${ENDED}` },
    success: { type: 'boolean', const: false },
    ...ENVELOPE_TEXTS,
  },
  required: ['code', 'message', 'data', 'success', 'trace_id'],
} as const satisfies JsonSchema

const REFUSAL = { $ref: '#/components/schemas/Refusal' }

const successExample = (data: unknown, locale: Locale) => ({
  code: 200,
  message: inLocale(SUCCESS, locale),
  data,
  success: true,
  trace_id: TRACE_ID,
})

const refusalExample = (reason: Failure, locale: Locale) => ({
  code: FAILURES[reason].code,
  message: failureMessage(reason, SAMPLE, locale),
  data: SAMPLE_DATA[reason] ?? null,
  success: false,
  trace_id: TRACE_ID,
})
