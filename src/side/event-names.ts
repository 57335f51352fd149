import type { SessionEvent } from '../event/event.ts'
import type { Extra } from '../session/record.ts'
import { charactersOf } from '../store/names.ts'

/** Characters of a name in an event: the data of a login through the operations may be long. */
const MAX_NAME_LENGTH = 128

/** The names of a user in events, from the data of a session or an account. */
export function eventNames({ username, nickname }: Extra): Pick<SessionEvent, 'username' | 'nickname'> {
  return {
    ...(typeof username === 'string' && { username: charactersOf(username, MAX_NAME_LENGTH) }),
    ...(typeof nickname === 'string' && { nickname: charactersOf(nickname, MAX_NAME_LENGTH) }),
  }
}
