import { readRecord } from '../../../src/session/record.ts'
import type { LoginType } from '../../../src/session/sides.ts'
import { type Act, keys, perform, printAct, type Verbs, type Wait } from './acts.ts'
import type { ModelRedis } from './model-redis.ts'
import { begun, checkEverywhere, expect, type Scene, type Subject, succeeded } from './scene.ts'

type Login = Scene<Act> & { act: Extract<Act, { token: string }> }

/** Sessions: P1 to P6 and P9 of the store, after any step. (P7 is kept where commands are asked, P8 has a test of its own.) */
export const SESSIONS: Subject<Act, Verbs> = {
  perform,
  print: printAct,
  check(redis, scenes) {
    checkEverywhere(redis, scenes, act => (act.verb === 'wait' ? act.verb : printAct(act)))
    for (const scene of scenes)
      if (scene.act.verb === 'login' && succeeded(scene)) checkLogin(redis, scenes, scene as Login)
  },
  /** No actor uses a token that was not issued. */
  canBegin(act, scenes) {
    if (act.verb !== 'renew' && act.verb !== 'logout') return true
    return scenes.some(scene => scene.act.verb === 'login' && scene.act.token === act.token && succeeded(scene))
  },
  /** At the end every token that was handed out can be ended. */
  closing: scenes =>
    scenes.flatMap(({ act, answer }): Act[] => {
      const isHandedOut = (answer as { admitted?: boolean } | null)?.admitted === true
      return isHandedOut && act.verb === 'login' ? [{ verb: 'kickout', type: act.type, user: act.user }] : []
    }),
}

const admitted = ({ answer }: Scene<Act>): boolean => (answer as { admitted: boolean }).admitted

function checkLogin(redis: ModelRedis, scenes: readonly Scene<Act>[], login: Login): void {
  const { type, user, token } = login.act
  const same = scenes.filter(({ act }) => act.verb !== 'wait' && act.type === type && act.user === user)
  const live = isLive(redis, type, token)
  if (!admitted(login)) {
    expect(!live, `P2: ${token} was refused and lives`)
    return
  }
  for (const scene of same) checkAfter(scene, login, live)
  checkBars(same, login)
  checkSet(redis, login, live)
  const ended = same.some(scene => begun(scene) && endsToken(scene.act, token))
  const end = Math.min(...same.filter(begun).map(({ act, beganAt }) => beganAt + lifetimeOf(act, token)))
  expect(live || ended || redis.now >= end, `${token} was lost: no actor ended it`)
}

const endsToken = (act: Act | Wait, token: string): boolean =>
  act.verb === 'kickout' ||
  (act.verb === 'logout' && act.token === token) ||
  (act.verb === 'end-others' && act.token !== token)

const lifetimeOf = (act: Act | Wait, token: string): number =>
  (act.verb === 'login' || act.verb === 'renew') && act.token === token ? act.lifetime : Infinity

function isLive(redis: ModelRedis, type: LoginType, token: string): boolean {
  const value = redis.entry(keys.token(type, token))?.value
  return typeof value === 'string' && readRecord(value, type) !== null
}

/** P1 and P2: an end that was confirmed and began after the login was answered, or that names the token, is the end. */
function checkAfter(scene: Scene<Act>, login: Login, live: boolean): void {
  if (!succeeded(scene)) return
  const { act, began, answer } = scene
  const { token } = login.act
  if (act.verb === 'kickout' && login.answered < began) expect(!live, `P1: ${token} outlived a kickout`)
  if (act.verb === 'end-others' && act.token !== token && login.answered < began)
    expect(!live, `P1: ${token} outlived the end of all others`)
  if (act.verb !== 'logout' || act.token !== token) return
  if (answer === true || login.answered < began) expect(!live, `P2: ${token} outlived its logout`)
}

/** P4: no login begins and succeeds while a disable is in force that no other actor has changed. */
function checkBars(same: Scene<Act>[], login: Login): void {
  const changes = same.filter(({ act, began }) => ['disable', 'untie'].includes(act.verb) && began < login.answered)
  const [disable] = changes
  if (changes.length !== 1 || disable?.act.verb !== 'disable' || !succeeded(disable) || disable.answered >= login.began)
    return
  const over = login.answeredAt >= disable.beganAt + disable.act.lifetime
  expect(over, `P4: ${login.act.token} was admitted while ${login.act.user} was disabled`)
}

/** P3 and P5: what was handed out is dead, or in its user's set, which outlives it. */
function checkSet(redis: ModelRedis, { act: { type, user, token } }: Login, live: boolean): void {
  if (!live) return
  const set = redis.entry(keys.session(type, user))
  expect(set?.value instanceof Set && set.value.has(token), `P5: ${token} lives outside the set of ${user}`)
  const { endsAt } = redis.entry(keys.token(type, token))!
  expect(set!.endsAt >= endsAt, `P5: ${token} lives until ${endsAt}, the set of ${user} until ${set!.endsAt}`)
}
