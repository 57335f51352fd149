import { extname } from 'node:path'
import { codeOf } from '../../base/file-state.ts'
import { readSource, unreadableText } from '../files-read.ts'
import type { Report, Written } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import type { UpstreamSettings } from '../schema/upstreams.ts'
import { cookieSides, providersOf, servesLogin } from '../served.ts'

const LOGOS = ['.svg', '.png']

/** Checks that the settings of browser sessions fit each other, those of logins, and `cors`. */
export function checkBrowser(settings: DecodedSettings, report: Report, warn: Report): void {
  const { browser } = settings
  checkLogo(browser.logo, report)
  const isHere = servesLogin(settings, 'CONSUMER') || providersOf(settings, 'CONSUMER').length > 0
  if (browser.consumer_page !== undefined && isHere) {
    report(['browser', 'consumer_page'], 'is never used, because the gateway signs consumers in itself; remove it')
  }
  if (cookieSides(settings).length > 0) checkCors(settings, warn)
}

function checkLogo(logo: string | undefined, report: Report): void {
  const path = ['browser', 'logo']
  if (logo === undefined) return
  if (!LOGOS.includes(extname(logo).toLowerCase())) {
    report(path, 'must be a file whose name ends with .svg or .png')
    return
  }
  const fault = faultOfReading(logo)
  if (fault !== null) report(path, fault)
}

/** Why a file cannot be read, with the remedy; `null` for one that can be. */
function faultOfReading(file: string): string | null {
  try {
    readSource(file)
    return null
  } catch (fault) {
    const isMissing = codeOf(fault) === 'ENOENT'
    return isMissing ? 'is a file that does not exist; correct the name, or remove it' : unreadableText(fault)
  }
}

/** A page of another origin needs both: it may send the cookie, and it may read the answer. */
function checkCors({ browser: { origins }, cors }: DecodedSettings, warn: Report): void {
  if (cors === 'off') return
  for (const [index, origin] of origins.entries()) {
    if (cors.origin.includes(origin) && !cors.credentials) {
      warn(
        ['browser', 'origins', index],
        'stands in cors.origin, too, but without credentials browsers send no cookie: set cors.credentials to on',
      )
    }
  }
  for (const [index, origin] of cors.origin.entries()) {
    if (cors.credentials && !origins.includes(origin)) {
      warn(
        ['cors', 'origin', index],
        'may send the cookie, but its writes are refused: name it in browser.origins, too',
      )
    }
  }
}

/** An upstream that signs consumers in needs their cookie. `listed` is where the upstreams stand. */
export function checkSignsIn(
  { browser }: Pick<DecodedSettings, 'browser'>,
  upstreams: readonly UpstreamSettings[],
  listed: Written,
): void {
  if (browser.consumer) return
  for (const [index, upstream] of upstreams.entries()) {
    const path = ['upstreams', index, 'signs_in']
    if (listed.isUnread(['upstreams', index]) || listed.isFaulty(path) || upstream.signs_in !== 'consumer') continue
    listed.warn(path, 'has no effect while browser.consumer is off: no cookie is set')
  }
}
