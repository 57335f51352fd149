import type { RedisClient } from './client.ts'
import { summaryOf } from './fault.ts'
import { answerOf } from './silence.ts'

/** Unlike others, this command is allowed where the memory is used up. */
const NO_CHANGE = "return redis.call('DEL', KEYS[1])"

/**
 * What Redis does not permit to this user, of what each login and each end of a session needs: to run a script, and to write in it.
 * `null` if both are permitted, or refused for another reason, such as by a replica.
 */
export async function missingRight(client: RedisClient, absentKey: string): Promise<string | null> {
  try {
    await answerOf(client, client.eval(NO_CHANGE, 1, absentKey))
    return null
  } catch (error) {
    const fault = summaryOf(error)
    return /^(?:NOPERM|ERR unknown command)/.test(fault) ? fault : null
  }
}
