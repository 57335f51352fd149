import type { LoginType } from '../../../session/sides.ts'
import { tokenDigest } from '../../digest.ts'
import type { Part } from '../../journal.ts'

/** The key shapes of the specification under one prefix, and those of our own, which never begin like them. */
export interface Keys {
  /** "Session token record". */
  token(type: LoginType, token: string): string
  /** "User session set". */
  session(type: LoginType, userId: string): string
  /** Why a token was ended. */
  ended(type: LoginType, token: string): string
  /** "Disable record". */
  disable(type: LoginType, loginId: string): string
  /** Of a credential; of every kind, of which keys of programs are the first. */
  credential(type: LoginType, id: string): string
  /** The credentials of an owner. */
  credentials(type: LoginType, owner: string): string
  /** The ids of all credentials of a side, by their end. */
  credentialEnds(type: LoginType): string
  /** When a credential was last used. */
  credentialUse(type: LoginType, id: string): string
  /** Of an account whose source has no place for it. */
  secondFactor(type: LoginType, loginId: string): string
  captcha(type: LoginType, id: string): string
  /** The ids of the captchas that are outstanding, by their end. */
  captchas(type: LoginType): string
  ticket(type: LoginType, id: string): string
  /** Counts the kickouts of a user, so that a login can detect that it overlaps one. */
  kicked(type: LoginType, userId: string): string
  attempts(name: string): string
  /** The attempts that have begun and not ended, by the end of each. */
  underWay(name: string): string
  /** What was acknowledged lately, for the other gateways of the store. */
  readonly journal: string
  /** The entries of a part of the journal of events, in their order. */
  entries(part: Part): string
  /** A list of them. */
  entriesIn(list: string): string
  /** Written to prove that replicas have everything that was written before. */
  readonly mark: string
  /** One of the online keys of a side. All of them lie in the same slot of a Cluster: the braces hold the name of the first. */
  online(type: LoginType, part: string): string
}

export function createKeys(prefix: string, captchaKey = '{prefix}:{type}:captcha:{id}'): Keys {
  const filled = captchaKey.replaceAll('{prefix}', () => prefix)
  return {
    token: (type, token) => `${prefix}:${type}:token:${token}`,
    session: (type, userId) => `${prefix}:${type}:session:${userId}`,
    ended: (type, token) => `${prefix}:${type}:ended:${tokenDigest(token)}`,
    disable: (type, loginId) => `${prefix}:${type}:disable:${loginId}`,
    credential: (type, id) => `${prefix}:${type}:key:${id}`,
    credentials: (type, owner) => `${prefix}:${type}:keys:${owner}`,
    credentialEnds: type => `${prefix}:${type}:idx:keys`,
    credentialUse: (type, id) => `${prefix}:${type}:key-used:${id}`,
    secondFactor: (type, loginId) => `${prefix}:${type}:second-factor:${loginId}`,
    captcha: (type, id) => filled.replace('{type}', type).replace('{id}', () => id),
    captchas: type => `${prefix}:${type}:idx:captchas`,
    ticket: (type, id) => `${prefix}:${type}:ticket:${id}`,
    kicked: (type, userId) => `${prefix}:${type}:kicked:${userId}`,
    attempts: name => `${prefix}:attempts:${name}`,
    underWay: name => `${prefix}:attempts-under-way:${name}`,
    journal: `${prefix}:journal`,
    entries: part => (part === 'trail' ? `${prefix}:events` : `${prefix}:events:~${part}`),
    entriesIn: list => `${prefix}:events:${list}`,
    mark: `${prefix}:mark`,
    online: (type, part) => {
      const first = `${prefix}:${type}:idx:online`
      return part === 'online' ? first : `${prefix}:${type}:idx:${part}:{${first}}`
    },
  }
}
