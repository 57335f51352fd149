import { beginningOf, isCovered, isPattern, withHead } from '../../gate/exceptions.ts'
import type { CanonicalPath } from '../../gate/path.ts'
import { RULES, verdictOf } from '../../gate/rules.ts'
import type { KeyPath, Report } from '../notation/written.ts'
import { ownRoutes } from '../own-routes.ts'
import { PROFILES, type Profile } from '../profile.ts'
import type { DecodedSettings } from '../schema/settings.ts'

type Entry = DecodedSettings['gate']['exceptions'][number]

const BASE = ['gate', 'exceptions'] as const

/** Checks that every exception has one meaning, takes effect, and excepts nothing that must not be excepted. */
export function checkExceptions(
  settings: DecodedSettings,
  report: Report,
  _warn: Report,
  isFaulty: (path: KeyPath) => boolean,
): void {
  const profile = PROFILES[settings.profile]
  // Exceptions are about paths below /api, where no route follows from the upstreams.
  const own = [...ownRoutes({ ...settings, upstreams: [] }, profile)]
  const { exceptions } = settings.gate
  const isSound = (index: number): boolean => !isFaulty([...BASE, index])
  for (const [index, entry] of exceptions.entries()) {
    if (!isSound(index)) continue
    const fault = faultOfPath(entry.path, profile, own)
    if (fault !== null) report([...BASE, index, 'path'], fault)
    else checkReached(entry, exceptions.slice(0, index), isSound, message => report([...BASE, index], message))
  }
}

const EXCEPTABLE = RULES.flatMap(({ number, exceptable }) => (exceptable ? [number] : [])).join(', ')

function faultOfPath(path: string, profile: Profile, own: readonly string[]): string | null {
  if (!isPattern(path)) {
    return (
      'must be a path such as /api/v1/sys/dict/tree, or /api/v1/file/* for everything below, of letters, digits and ' +
      '- . _ ~ only: other characters have several spellings, and only one of them would be excepted'
    )
  }
  const verdict = verdictOf(beginningOf(path) as CanonicalPath, 'GET', profile.paths)
  if (verdict === null)
    return 'matches no rule and is never forwarded; write a path below /api/v<n>, or name it in gate.pages instead'
  const { number, exceptable } = verdict.rule
  if (!exceptable) return `is decided by rule ${number}, and only rules ${EXCEPTABLE} have exceptions; remove it`
  const served = own.find(route => isCovered(path, route.slice(route.indexOf(' ') + 1)))
  if (served === undefined) return null
  const remedy = path.endsWith('/*') ? 'write narrower paths, without it' : 'remove it'
  return `excepts ${served}, which the gateway serves itself; ${remedy}`
}

/** Reports methods that earlier exceptions decide for all of the paths. */
function checkReached(
  { path, methods }: Entry,
  earlier: readonly Entry[],
  isSound: (index: number) => boolean,
  report: (message: string) => void,
): void {
  for (const [position, method] of methods.entries()) {
    if (methods.indexOf(method) !== position) report(`names ${method} twice; remove one`)
    const deciding = earlier.findIndex(
      (other, at) =>
        isSound(at) && isPattern(other.path) && withHead(other.methods).has(method) && isCovered(other.path, path),
    )
    if (deciding !== -1) {
      report(
        `is never reached with ${method}, because exception ${deciding + 1} in the list, ${earlier[deciding]!.path}, matches first; ` +
          'put it before that one, or remove it',
      )
    }
  }
}
