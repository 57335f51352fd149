import type { Scripts } from '../commands/key-scripts.ts'
import { MEMBERS_AT_ONCE, type RedisCommands } from '../commands/redis-commands.ts'
import type { Ask } from '../commands/send-command.ts'
import type { RedisClient } from '../connection/client.ts'
import { CREDENTIAL_SCRIPTS, type CredentialScripts } from './credential-scripts.ts'

/** Commands on the keys of credentials, on one key each, as all of the store. */
export interface OwnCommands {
  /** Sets a key that must not exist yet, for so many milliseconds. `false` if it exists. */
  hold(key: string, text: string, lifetime: number): Promise<boolean>
  /** Replaces a text that is `from`, and sets the key's end. `false` if it is another one. */
  activate(key: string, from: string, to: string, expiresAt: number): Promise<boolean>
  /** The same, but that the key keeps its end, or ends at `until` if that is earlier. */
  exchange(key: string, from: string, to: string, until: number): Promise<boolean>
  /**
   * Enters a credential into the list of its owner, unless `most` count there. Answers when, in microseconds; `null` if it was
   * not entered.
   */
  reserve(list: string, id: string, expiresAt: number, most: number): Promise<number | null>
  /**
   * The same in the place of another one, which no longer counts, and of one without a record that had taken it `before`, which
   * leaves the list; `null` if the other one is not in the list.
   */
  takePlace(list: string, id: string, expiresAt: number, of: string, before?: string): Promise<number | null>
  /** Removes an id without a record from the list of an owner; the one of which it had taken the place counts again. */
  giveBack(list: string, id: string, of: string): Promise<void>
  /** The ids in the list of an owner, of those that have ended, too. */
  listed(list: string): Promise<string[]>
  /** Removes ids from the list of an owner. */
  release(list: string, ids: readonly string[]): Promise<void>
  /** Removes members that end by themselves. */
  removeEndings(key: string, members: readonly string[]): Promise<void>
  /** How many members have not ended, and some of them, those that end next first. */
  pageEnding(key: string, offset: number, limit: number): Promise<{ total: number; members: string[] }>
  /** Some of the members that end by themselves, of those that have ended, too; from the cursor `0` until `next` is `0` again. */
  someEnding(key: string, cursor: string): Promise<{ next: string; members: string[] }>
}

export type CredentialCommands = OwnCommands &
  Pick<RedisCommands, 'get' | 'read' | 'set' | 'delete' | 'revoke' | 'timeLeft' | 'addEnding'>

export function credentialCommandsOn(client: RedisClient, ask: Ask): OwnCommands {
  for (const [name, lua] of Object.entries(CREDENTIAL_SCRIPTS)) client.defineCommand(name, { numberOfKeys: 1, lua })
  const scripts = client as unknown as CredentialScripts & Pick<Scripts, 'endingPage'>
  const remove = async (key: string, members: string[]): Promise<void> => {
    if (members.length > 0) await ask(() => client.zrem(key, members))
  }
  return {
    hold: async (key, text, lifetime) => (await ask(() => client.set(key, text, 'PX', lifetime, 'NX'))) === 'OK',
    activate: async (key, from, to, at) =>
      (await ask(() => scripts.credentialActivate(key, from, to, Math.ceil(at)))) === 1,
    exchange: async (key, from, to, until) =>
      (await ask(() => scripts.credentialExchange(key, from, to, Math.ceil(until)))) === 1,
    reserve: async (list, id, at, most) =>
      (await ask(() => scripts.credentialReserve(list, id, Math.ceil(at), most))) || null,
    takePlace: async (list, id, at, of, before = '') =>
      (await ask(() => scripts.credentialTakePlace(list, id, Math.ceil(at), of, before))) || null,
    giveBack: async (list, id, of) => void (await ask(() => scripts.credentialGiveBack(list, id, of))),
    listed: async list => (await ask(() => client.zrange(list, 0, '-1'))).map(member => member.slice(1)),
    release: (list, ids) =>
      remove(
        list,
        ids.flatMap(id => [`+${id}`, `-${id}`]),
      ),
    removeEndings: (key, members) => remove(key, [...members]),
    async pageEnding(key, offset, limit) {
      const [total, ...members] = await ask(() => scripts.endingPage(key, offset, limit))
      return { total, members }
    },
    async someEnding(key, cursor) {
      const [next, found] = await ask(() => client.zscan(key, cursor, 'COUNT', MEMBERS_AT_ONCE))
      return { next, members: found.filter((_, i) => i % 2 === 0) }
    },
  }
}
