import { type LoginType, SIDES } from '../session/sides.ts'
import type { SessionsSettings } from './schema/sessions.ts'

/** Durations in milliseconds. */
interface Policy {
  max_tokens_per_user: number
  per_device: boolean
  auto_renew: 'off' | number
  idle_timeout: 'off' | number
}

/** What holds on one side: its own settings over those of both. Apart from the schema, which serving does not need. */
export function policyOf(sessions: SessionsSettings, type: LoginType): Policy {
  const { business: _business, consumer: _consumer, ...both } = sessions
  const own = sessions[SIDES[type].name] as Partial<Policy> | undefined
  return { ...both, ...own }
}
