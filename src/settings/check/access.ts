import { coversPath, isAccessPattern, type WrittenAccess } from '../../gate/address-rules.ts'
import { beginningOf } from '../../gate/exceptions.ts'
import { KEYS_PATH } from '../../gate/own-pages.ts'
import { createPageRules } from '../../gate/page-rules.ts'
import type { CanonicalPath } from '../../gate/path.ts'
import { verdictOf } from '../../gate/rules.ts'
import type { KeyPath, Report } from '../notation/written.ts'
import { PROFILES } from '../profile.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { pagePathsOf } from '../served.ts'
import { isAddressRange } from './address-range.ts'

/** Checks that every rule about client addresses has one meaning and takes effect. */
export function checkAccess(
  settings: DecodedSettings,
  report: Report,
  _warn: Report,
  isFaulty: (path: KeyPath) => boolean,
): void {
  const { access } = settings
  const isSound = (index: number): boolean => !isFaulty(['access', index])
  for (const [index, rule] of access.entries()) {
    if (!isSound(index)) continue
    const fault = faultOfPath(rule.path, settings)
    if (fault !== null) report(['access', index, 'path'], fault)
    else checkReached(rule, access.slice(0, index), isSound, message => report(['access', index], message))
    checkLists(rule, ['access', index], report)
  }
}

function faultOfPath(path: string, settings: DecodedSettings): string | null {
  if (!isAccessPattern(path)) {
    return (
      'must be a path such as /console, or /api/v1/sys/* for everything below, of letters, digits and - . _ ~ only: other ' +
      'characters have several spellings, and only one of them would be covered'
    )
  }
  const profile = PROFILES[settings.profile]
  // The upstreams, of which one may get assertions, are read later.
  const open = new Set([...pagePathsOf(settings, profile), KEYS_PATH])
  const pages = createPageRules(settings.gate.pages)
  const beginning = beginningOf(path).toLowerCase()
  const isServed =
    verdictOf(beginning as CanonicalPath, 'GET', { ...profile.paths, open, pages }) !== null ||
    [...open].some(own => coversPath(path, own)) ||
    pages.some(page => coversPath(path, page.path)) ||
    (path.endsWith('/*') && '/api/v'.startsWith(beginning))
  return isServed ? null : 'covers nothing that the gateway serves or forwards; correct it, or remove it'
}

/** Reports a rule whose paths an earlier one decides. */
function checkReached(
  { path }: WrittenAccess,
  earlier: readonly WrittenAccess[],
  isSound: (index: number) => boolean,
  report: (text: string) => void,
): void {
  const deciding = earlier.findIndex(
    (other, at) => isSound(at) && isAccessPattern(other.path) && coversPath(other.path, path),
  )
  if (deciding === -1) return
  report(
    `is never reached, because rule ${deciding + 1} in the list, ${earlier[deciding]!.path}, matches first; put it before ` +
      'that one, or remove it',
  )
}

function checkLists(rule: WrittenAccess, path: KeyPath, report: Report): void {
  if (rule.allow === undefined && rule.deny === undefined) report(path, 'needs allow, or deny, or both')
  for (const key of ['allow', 'deny'] as const) {
    for (const [index, range] of (rule[key] ?? []).entries()) {
      if (!isAddressRange(range)) report([...path, key, index], 'must be an address or a CIDR range such as 10.0.0.0/8')
    }
  }
}
