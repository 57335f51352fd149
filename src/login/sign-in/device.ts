/** Browsers by the word in their user agent. The first match counts, because each browser also names its ancestors. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bMicroMessenger\//, 'WeChat'],
  [/\b(Edg|EdgA|EdgiOS|Edge)\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

/**
 * The kind of device shown in lists of sessions: the browser, otherwise the first product of the user agent (`curl`).
 */
export function deviceTypeOf(userAgent: string): string {
  for (const [pattern, name] of BROWSERS) if (pattern.test(userAgent)) return name
  return /^[A-Za-z0-9._-]{1,32}(?=[/ ]|$)/.exec(userAgent)?.[0] ?? 'Unknown'
}
