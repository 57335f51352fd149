import type { FastifyInstance } from 'fastify'
import type { LoginType } from '../../session.ts'
import type { Failure } from '../server/messages.ts'
import type { JsonSchema } from './json-schema.ts'

/**
 * What the API documents say of a route. It stands at the route as `config: { description }` and is read once, when the
 * route is made. A route whose description has no body ignores the bodies of its requests.
 */
export type Description = Subject & (Enveloped | Plain)

interface Subject {
  /** The heading that it stands under. */
  group: Group
  /** `null` where it is about neither. */
  side: LoginType | null
  summary: string
  details?: string
  /** What the client must have: nothing, a live session of one side, or the secret of the internal listener. */
  needs: 'nothing' | LoginType | 'secret'
  /** The permission code that a session needs besides. */
  permission?: string
  query?: readonly Parameter[]
  body?: { schema: JsonSchema; example: unknown }
}

interface Enveloped {
  /** The envelope's `data`. */
  data: { schema: JsonSchema; example: unknown }
  /** The reasons for which it may be refused, beside those that hold for every route. */
  refusals: readonly Failure[]
}

/** Answers without an envelope. */
interface Plain {
  plain: readonly PlainAnswer[]
}

export interface PlainAnswer {
  status: number
  what: string
  type: 'application/json' | 'text/plain'
  schema: JsonSchema
  example: unknown
}

export type Group = 'login' | 'administration' | 'operations' | 'probes'

/** The headings of the documents, for each side. */
export const GROUPS: Readonly<Record<Group, { name: string; description: string }>> = {
  login: { name: 'Login', description: 'Signing in and out.' },
  administration: { name: 'Sessions', description: 'Who is online, and the end of their sessions.' },
  probes: { name: 'Probes', description: 'For whoever runs the gateway.' },
  operations: { name: 'Operations', description: 'Sessions in the hands of the services behind the gateway.' },
}

export interface Parameter {
  name: string
  description: string
  schema: JsonSchema
  required?: boolean
}

export interface DescribedRoute {
  method: string
  path: string
  description: Description
}

declare module 'fastify' {
  interface FastifyContextConfig {
    description?: Description
  }
}

/** Collects what is said of the routes that are made on a listener from now on. */
export function collectDescriptions(app: FastifyInstance): readonly DescribedRoute[] {
  const described: DescribedRoute[] = []
  app.addHook('onRoute', ({ method, url, config }) => {
    const { description } = config ?? {}
    // What is said of GET holds for the HEAD that stands beside it.
    if (description === undefined) return
    for (const one of [method].flat()) {
      if (one !== 'HEAD') described.push({ method: one, path: url, description })
    }
  })
  return described
}
