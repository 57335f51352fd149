import type { KeyPath, Report } from '../notation/written.ts'
import type { DecodedSettings } from '../schema/settings.ts'

/** Why a URL is no origin with which that of a page can be compared, as text (RFC 6454, 6.2); `null` if it is one. */
export function faultOfOrigin(url: string): string | null {
  const { origin } = new URL(url)
  return url === origin ? null : `must be written as browsers do: ${origin}`
}

/** Checks that pages can have the origins of a list. */
export function checkOrigins(origins: readonly string[], path: KeyPath, report: Report): void {
  for (const [index, url] of origins.entries()) {
    const fault = faultOfOrigin(url)
    if (fault !== null) report([...path, index], fault)
  }
}

/** Checks the pages of other origins that may send requests, or read answers. */
export function checkForeignPages({ browser, cors }: DecodedSettings, report: Report): void {
  checkOrigins(browser.origins, ['browser', 'origins'], report)
  if (cors !== 'off') checkOrigins(cors.origin, ['cors', 'origin'], report)
}
