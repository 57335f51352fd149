import type { FastifyInstance } from 'fastify'
import { LOGIN_TYPES, SIDES } from '../../../session/sides.ts'
import type { Profile } from '../../../settings/profile.ts'
import { type OperationName, operationNames } from '../../../side/operations.ts'
import type { Sides } from '../../server/authenticate.ts'
import type { Envelopes } from '../../server/envelope.ts'
import type { BodyOf, DataOf } from '../contract.ts'
import * as disabling from './disable.ts'
import * as lookups from './lookups.ts'
import type { Operation } from './operation.ts'
import * as sessions from './sessions.ts'

const { logoutOfUser, ...ofTokens } = sessions

/** The internal authentication operations by their names in the specification. */
const OPERATIONS = { ...ofTokens, ...lookups, ...disabling } satisfies Readonly<Record<OperationName, Operation>>

type ContractOf<N extends OperationName> = (typeof OPERATIONS)[N]['contract']
/** What an operation takes and answers over HTTP. */
export type OperationBody<N extends OperationName> = BodyOf<ContractOf<N>>
export type OperationData<N extends OperationName> = DataOf<ContractOf<N>>

/** `POST /operations/v1/{business|consumer}/{operation}`, names in kebab-case, for the services behind the gateway. */
export function serveOperations(app: FastifyInstance, sides: Sides, profile: Profile, envelopes: Envelopes): void {
  const operations = { ...OPERATIONS, ...(profile.extendedOperations && { logout: logoutOfUser }) }
  for (const name of operationNames(profile)) {
    for (const type of LOGIN_TYPES) {
      const path = `/operations/v1/${SIDES[type].name}/${kebabCase(name)}`
      operations[name].serve(app, path, sides[type], envelopes)
    }
  }
}

const kebabCase = (name: string): string => name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
