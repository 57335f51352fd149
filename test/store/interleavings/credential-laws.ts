import type { CredentialStore } from '../../../src/store/credentials.ts'
import { PENDING } from '../../../src/store/redis/credentials/entry.ts'
import { readLive, type StoredCredential } from '../../../src/store/redis/credentials/record.ts'
import { keys } from './acts.ts'
import { type CredentialAct, MOST, performCredentialAct, printCredentialAct } from './credential-acts.ts'
import type { ModelRedis } from './model-redis.ts'
import { begun, checkEverywhere, expect, type Scene, type Subject, succeeded } from './scene.ts'

type CredentialScene = Scene<CredentialAct>

/** Of the scenario, there is one owner. */
export const OWNER = { type: 'BUSINESS', user: 'u' } as const
/** Longer than a credential that was succeeded lives on, and than what a dead actor left unfinished is kept. */
const LATER = PENDING + 1

/**
 * C1 what can be found is in the list of its owner, which outlives it; C2 no more than so many count, and one more for each
 * succession that died, and without a fault none that was succeeded; C3 what was stored lives
 * until it is ended or succeeded; C4 what was not stored does not; C5 a confirmed end is the end; C6 a credential is succeeded once;
 * C7 whatever died, all places can be used a little later, and all credentials can be ended; C8 a verb without an answer was
 * disturbed by a fault, or by the end of what it stored; C9 a succession that one fault has kept from its answer can be tried again,
 * unless its successor has taken the place: then that is in the list.
 */
export const CREDENTIALS: Subject<CredentialAct, CredentialStore> = {
  perform: performCredentialAct,
  print: printCredentialAct,
  canBegin: () => true,
  check(redis, scenes) {
    checkEverywhere(redis, scenes, act => (act.verb === 'wait' ? act.verb : printCredentialAct(act)))
    checkLists(redis, scenes)
    for (const scene of scenes) {
      if (isRetry(scene.act) && begun(scene)) expect(scene.answer === true, `C9: ${scene.act.id} cannot be succeeded`)
      if (succeeded(scene)) checkScene(redis, scenes, scene)
      else if (scene.failed && scene.faults === 0) checkUndisturbed(scenes, scene)
    }
    checkClosing(redis, scenes)
  },
  closing: (scenes, redis) => [
    ...retries(redis, scenes),
    { verb: 'wait', lifetime: LATER },
    ...Array.from(
      { length: MOST },
      (_, i): CredentialAct => ({ verb: 'add', ...OWNER, id: `last${i}`, lifetime: LATER }),
    ),
    { verb: 'remove-all', ...OWNER },
  ],
}

const AGAIN = '-again'

type Succession = Extract<CredentialAct, { verb: 'succeed' }>

const isSuccession = (act: CredentialScene['act']): act is Succession => act.verb === 'succeed'
const isRetry = (act: CredentialScene['act']): act is Succession => isSuccession(act) && act.next.endsWith(AGAIN)

/** One for each credential of which a succession got no answer, and that was not ended, nor succeeded by others, answered or not. */
function retries(redis: ModelRedis, scenes: readonly CredentialScene[]): CredentialAct[] {
  const acts = new Map<string, CredentialAct>()
  for (const { act, answer, faults } of scenes) {
    if (!isSuccession(act) || faults !== 1 || answer !== null) continue
    const isDone = scenes.some(other => isSuccession(other.act) && other.act.id === act.id && other.answer === true)
    const isEnded = scenes.some(other => begun(other) && endOf(other, act.next) !== null)
    const old = liveIn(redis, act.id)
    const isAnothers = old?.state === 'succeeded' && old.by !== act.next
    if (isDone || isEnded || old === null || isAnothers || liveIn(redis, act.next) !== null) continue
    acts.set(act.id, { ...act, next: act.id + AGAIN })
  }
  return [...acts.values()]
}

function liveIn(redis: ModelRedis, id: string): StoredCredential | null {
  const value = redis.entry(keys.credential(OWNER.type, id))?.value
  return typeof value === 'string' ? readLive(id, value) : null
}

/** All that can be found. */
function allLive(redis: ModelRedis): StoredCredential[] {
  const start = keys.credential(OWNER.type, '')
  const ids = redis.keys().filter(key => key.startsWith(start))
  return ids.map(key => liveIn(redis, key.slice(start.length))).filter(live => live !== null)
}

function checkLists(redis: ModelRedis, scenes: readonly CredentialScene[]): void {
  const live = allLive(redis)
  const list = redis.entry(keys.credentials(OWNER.type, OWNER.user))
  for (const { id, owner, state } of live) {
    expect(owner === OWNER.user, `C1: ${id} is of ${owner}`)
    const members = list?.value instanceof Map ? list.value : new Map<string, number>()
    expect(members.has(`+${id}`) || members.has(`-${id}`), `C1: ${id} can be found, and is in no list of ${owner}`)
    const mayCount = state !== 'succeeded' || scenes.some(({ faults }) => faults > 0)
    expect(mayCount || !members.has(`+${id}`), `C2: ${id} counts although it was succeeded`)
    const { endsAt } = redis.entry(keys.credential(OWNER.type, id))!
    expect(list!.endsAt >= endsAt, `C1: ${id} outlives the list of ${owner}`)
  }
  const counting = live.filter(({ state, by }) => state === 'live' && by === undefined)
  const died = scenes.filter(({ act, faults }) => isSuccession(act) && faults > 0)
  expect(counting.length <= MOST + died.length, `C2: ${counting.length} count`)
}

function checkScene(redis: ModelRedis, scenes: readonly CredentialScene[], scene: CredentialScene): void {
  const { act, answer } = scene
  if (act.verb === 'add') checkStored(redis, scenes, scene, act.id, act.lifetime)
  if (act.verb === 'succeed') {
    checkStored(redis, scenes, scene, act.next, act.lifetime)
    if (answer === true) checkSucceeded(redis, scenes, scene, act)
  }
  if (act.verb === 'remove' && answer === true) expect(liveIn(redis, act.id) === null, `C5: ${act.id} outlived its end`)
}

function checkUndisturbed(scenes: readonly CredentialScene[], { act }: CredentialScene): void {
  const isEnded = scenes.some(other => begun(other) && (other.act.verb === 'remove-all' || other.act.verb === 'wait'))
  const stores = act.verb === 'add' || act.verb === 'succeed'
  expect(stores && isEnded, `C8: ${act.verb === 'wait' ? act.verb : printCredentialAct(act)} had no answer`)
}

/** What became of what a scene has stored, if it has. */
function checkStored(
  redis: ModelRedis,
  scenes: readonly CredentialScene[],
  scene: CredentialScene,
  id: string,
  lifetime: number,
): void {
  const live = liveIn(redis, id)
  if (scene.answer === false) {
    expect(live === null, `C4: ${id} was refused and lives`)
    return
  }
  const ends = scenes.filter(other => begun(other) && endOf(other, id) !== null)
  for (const end of ends) {
    const isConfirmed = succeeded(end) && scene.answered < end.began && end.act.verb !== 'succeed'
    if (isConfirmed) expect(live === null, `C5: ${id} outlived its end`)
  }
  const expiresAt = Math.min(scene.beganAt + lifetime, ...ends.map(end => endOf(end, id)!))
  expect(live !== null || redis.now >= expiresAt, `C3: ${id} was lost: no actor ended it`)
}

/** When a scene ends a credential at the earliest; `null` if it does not. */
function endOf({ act, beganAt }: CredentialScene, id: string): number | null {
  if (act.verb === 'remove-all' || (act.verb === 'remove' && act.id === id)) return beganAt
  return act.verb === 'succeed' && act.id === id ? beganAt + act.overlap : null
}

function checkSucceeded(
  redis: ModelRedis,
  scenes: readonly CredentialScene[],
  scene: CredentialScene,
  { id, overlap }: Extract<CredentialAct, { verb: 'succeed' }>,
): void {
  const others = scenes.filter(
    ({ act, answer }) => act.verb === 'succeed' && act.id === id && answer === true && act !== scene.act,
  )
  expect(others.length === 0, `C6: ${id} was succeeded twice`)
  const old = liveIn(redis, id)
  if (old === null) return
  expect(old.state === 'succeeded', `C6: ${id} counts although it was succeeded`)
  const { endsAt } = redis.entry(keys.credential(OWNER.type, id))!
  expect(endsAt <= scene.answeredAt + overlap, `C6: ${id} lives on for too long`)
}

/** Once the acts of `closing` were done. */
function checkClosing(redis: ModelRedis, scenes: readonly CredentialScene[]): void {
  const last = scenes.filter(({ act }) => act.verb === 'add' && act.id.startsWith('last'))
  const end = scenes.at(-1)
  if (last.length < MOST || end === undefined || !succeeded(end)) return
  const before = last.map(({ answer }) => (answer === true ? 1 : 0)) as number[]
  const ended = (end.answer ?? []) as string[]
  expect(allLive(redis).length === 0, 'C7: the end of all left some')
  const others = ended.filter(id => !id.startsWith('last'))
  const stored = before.reduce((sum, one) => sum + one, 0)
  expect(stored + others.length >= MOST, `C7: ${MOST - stored - others.length} places are lost`)
}
