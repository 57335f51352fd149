import type { Settings } from '../config/schema.ts'
import { policyOf } from '../config/session-schema.ts'
import type { LoginType } from './record.ts'
import { createSide, type Side, type SideOptions } from './side.ts'

/** Both sides as the settings want them, over the same parts; what one does never touches the other. */
export function createSides(
  { jwt, disable, sessions }: Settings,
  parts: Pick<SideOptions, 'jwt' | 'store' | 'clock' | 'moments' | 'publish'>,
): Readonly<Record<LoginType, Side>> {
  const shared = {
    ...parts,
    expireSeconds: jwt.expire_seconds,
    tokenName: jwt.token_name,
    enforceDisable: disable.enforce === 'request',
  }
  return {
    BUSINESS: createSide({ ...shared, type: 'BUSINESS', policy: policyOf(sessions, 'business') }),
    CONSUMER: createSide({ ...shared, type: 'CONSUMER', policy: policyOf(sessions, 'consumer') }),
  }
}
