import type { FastifyInstance } from 'fastify'
import type { Profile } from '../../profile.ts'
import { type FieldFault, invalid, Refusal } from '../../refusal.ts'
import { isPlainObject, LOGIN_TYPES, SIDES } from '../../session.ts'
import { type OperationName, operationNames } from '../../side/operations.ts'
import type { Side, WithHeaders } from '../../side/side.ts'
import type { Sides } from '../server/authenticate.ts'
import type { Envelopes } from '../server/envelope.ts'
import { describeOperation } from './documents/operations.ts'

type Body = Record<string, unknown>
type Operation = (side: Side, body: Body, profile: Profile) => Promise<unknown>

/** The internal authentication operations over HTTP: what each takes from the body and answers as `data`. */
const HANDLERS: Readonly<Record<OperationName, Operation>> = {
  login: async (side, body) => ({
    token: await side.login(
      undefined,
      text(body, 'user_id'),
      optional(body, 'extra', isPlainObject, 'must be an object') ?? {},
    ),
  }),
  logout: async (side, body, profile) => {
    if (profile.extendedOperations && given(body, 'user_id')) await side.kickout(text(body, 'user_id'))
    else await side.logout(asRequest(side, body))
    return null
  },
  kickout: async (side, body) => {
    await side.kickout(text(body, 'user_id'))
    return null
  },
  kickoutToken: async (side, body) => {
    if (await side.kickoutToken(text(body, 'user_id'), text(body, 'token'))) return null
    throw new Refusal('NO_SUCH_TOKEN')
  },
  isLogin: async (side, body) => ({ is_login: await side.isLogin(asRequest(side, body)) }),
  getLoginId: async (side, body) => ({ user_id: await side.getLoginId(asRequest(side, body)) }),
  getLoginIdDefaultNull: async (side, body) => ({ user_id: await side.getLoginIdDefaultNull(asRequest(side, body)) }),
  getLoginIdByToken: async (side, body) => ({ user_id: await side.getLoginIdByToken(text(body, 'token')) }),
  getTokenValue: async (side, body) => ({ token: side.getTokenValue(asRequest(side, body)) }),
  renewTimeout: async (side, body) => {
    const seconds = optional(body, 'seconds', isNumber, 'must be a number')
    if (await side.renewTimeout(asRequest(side, body), seconds)) return null
    throw new Refusal('NOT_LOGGED_IN')
  },
  disable: async (side, body) => {
    await side.disable(text(body, 'user_id'), required(body, 'seconds', isNumber, 'must be a number'))
    return null
  },
  isDisable: async (side, body) => ({ is_disable: await side.isDisable(text(body, 'user_id')) }),
  untieDisable: async (side, body) => {
    await side.untieDisable(text(body, 'user_id'))
    return null
  },
  getLoginType: async side => ({ login_type: side.getLoginType() }),
  getTokenInfo: (side, body) => side.getTokenInfo(asRequest(side, body)),
  getSession: (side, body) => side.getSession(asRequest(side, body)),
  getExtra: async (side, body) => ({ value: await side.getExtra(asRequest(side, body), text(body, 'name')) }),
  getTokenTimeout: async (side, body) => ({ timeout: await side.getTokenTimeout(asRequest(side, body)) }),
  getSessionTimeout: async (side, body) => ({ timeout: await side.getSessionTimeout(asRequest(side, body)) }),
  getTokenValueByLoginId: async (side, body) => ({ token: await side.getTokenValueByLoginId(text(body, 'user_id')) }),
  getTokenValuesByLoginId: async (side, body) => ({
    tokens: await side.getTokenValuesByLoginId(text(body, 'user_id')),
  }),
  checkDisable: async (side, body) => {
    await side.checkDisable(text(body, 'user_id'))
    return null
  },
  getDisableTime: async (side, body) => ({ disable_time: await side.getDisableTime(text(body, 'user_id')) }),
}

/** `POST /operations/v1/{business|consumer}/{operation}`, names in kebab-case, for the services behind the gateway. */
export function serveOperations(app: FastifyInstance, sides: Sides, profile: Profile, envelopes: Envelopes): void {
  for (const name of operationNames(profile)) {
    for (const type of LOGIN_TYPES) {
      const side = sides[type]
      const route = { config: { description: describeOperation(name, type, profile) } }
      app.post(`/operations/v1/${SIDES[type].name}/${kebabCase(name)}`, route, async request => {
        const body = request.body ?? {}
        if (!isPlainObject(body)) throw invalid('body', 'must be a JSON object')
        return envelopes.success(request.id, await HANDLERS[name](side, body, profile))
      })
    }
  }
}

const kebabCase = (name: string): string => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

/** The request operations read a token from a header; over HTTP the body's `token` stands for it, with or without `Bearer`. */
function asRequest(side: Side, body: Body): WithHeaders {
  return { headers: { [side.headerName]: text(body, 'token') } }
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number'

const given = (body: Body, field: string): boolean => Object.hasOwn(body, field) && body[field] !== null

function optional<T>(body: Body, field: string, is: (value: unknown) => value is T, fault: FieldFault): T | undefined {
  if (!given(body, field)) return undefined
  const value = body[field]
  if (!is(value)) throw invalid(field, fault)
  return value
}

function required<T>(body: Body, field: string, is: (value: unknown) => value is T, fault: FieldFault): T {
  const value = optional(body, field, is, fault)
  if (value === undefined) throw invalid(field, 'is missing')
  return value
}

const text = (body: Body, field: string): string => required(body, field, isText, 'must be a string')
