import type { SessionsSettings } from './schema/sessions.ts'

/** Durations in milliseconds. */
interface Policy {
  max_tokens_per_user: number
  per_device: boolean
  auto_renew: 'off' | number
  idle_timeout: 'off' | number
}

/** What holds on one side: its own settings over those of both. Apart from the schema, which serving does not need. */
export function policyOf(sessions: SessionsSettings, side: 'business' | 'consumer'): Policy {
  const { business, consumer, ...both } = sessions
  const own = (side === 'business' ? business : consumer) as Partial<Policy> | undefined
  return { ...both, ...own }
}
