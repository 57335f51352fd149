import type { FastifyInstance } from 'fastify'
import { BY_OPERATIONS, type Origin } from '../../../event/event.ts'
import type { Side, WithHeaders } from '../../../side/side.ts'
import type { Envelopes } from '../../server/envelope.ts'
import type { FieldSchema } from '../../server/validation.ts'
import { SAMPLE_USER, USER_ID } from '../common-fields.ts'
import type { BodyOf, Contract, DataOf, JsonSchema } from '../contract.ts'
import { serveAny } from '../serve-route.ts'

/** An internal authentication operation over HTTP. */
export interface Operation<C extends Contract = Contract> {
  contract: C
  serve(app: FastifyInstance, path: string, side: Side, envelopes: Envelopes): void
}

export const operation = <const C extends Contract>(
  contract: C,
  answer: (side: Side, body: BodyOf<C>, origin: Origin) => Promise<DataOf<C>>,
): Operation<C> => ({
  contract,
  serve: (app, path, side, envelopes) =>
    serveAny(app, envelopes, {
      method: 'POST',
      path,
      place: { group: 'operations', side: side.type, needs: 'secret' },
      contract,
      answer: ({ body, id }) => answer(side, body as BodyOf<C>, { by: BY_OPERATIONS, trace_id: id }),
    }),
})

/** The request operations read a token from a header; over HTTP the body's `token` stands for it, with or without `Bearer`. */
export const asRequest = (side: Side, token: string): WithHeaders => ({ headers: { [side.headerName]: token } })

export const SAMPLE_TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJqdGkiOiI2WmIxIn0.c2ln'

export const TOKEN = {
  type: 'string',
  description: 'A token, with or without `Bearer `.',
} as const satisfies FieldSchema

/** Bodies that hold nothing else. */
export const OF_USER = {
  schema: { type: 'object', properties: { user_id: USER_ID }, required: ['user_id'] },
  example: { user_id: SAMPLE_USER },
} as const
export const OF_TOKEN = {
  schema: { type: 'object', properties: { token: TOKEN }, required: ['token'] },
  example: { token: SAMPLE_TOKEN },
} as const
export const OF_USER_AND_TOKEN = {
  schema: { type: 'object', properties: { user_id: USER_ID, token: TOKEN }, required: ['user_id', 'token'] },
  example: { user_id: SAMPLE_USER, token: SAMPLE_TOKEN },
} as const

/** An answer of one value. */
export const one = <const N extends string, const S extends JsonSchema>(name: N, schema: S, example: unknown) =>
  ({
    schema: { type: 'object', properties: { [name]: schema } as Record<N, S>, required: [name] },
    example: { [name]: example },
  }) as const
