import type { IncomingHttpHeaders } from 'node:http'
import { type Shown, shownTo, signInAt, signInFor } from '../../gate/navigation.ts'
import type { SessionCookies } from '../../token/cookie.ts'
import type { AnswerSignedOut } from '../server/envelope.ts'
import { inLocale, type Locale, type Text } from '../server/failure-texts.ts'
import { localeOf, sendShortPage } from './short-page.ts'

const TEXTS = {
  form: [
    'You were signed out, and nothing was sent. Sign in in another tab, then send the form again.',
    '您已退出登录，表单未提交。请在新标签页中登录后，再重新提交。',
  ],
  frame: ['You are not signed in.', '您尚未登录。'],
  signIn: ['Sign in', '登录'],
} as const satisfies Record<string, Text>

/**
 * Answers a person who wants a page without the session that it needs: leads to the sign-in, or says what to do. `false` where the
 * request is not a person's, or the side has no sign-in page; `null` where no side has one.
 */
export function createAnswerSignedOut(cookies: SessionCookies | null, locale: Locale): AnswerSignedOut | null {
  if (cookies === null) return null
  return (request, reply, { reason, message }) => {
    const { verdict, target, raw } = request
    if (verdict === null || (reason !== 'NOT_LOGGED_IN' && reason !== 'COOKIE_TWICE')) return false
    const page = signInFor(verdict, cookies.sides)
    const shown = shownTo(raw.headers, request.method)
    if (page === null || shown === 'none') return false
    if (shown === 'navigation' && reason === 'NOT_LOGGED_IN') {
      reply.removeHeader('www-authenticate')
      reply
        .code(303)
        .header('location', signInAt(page, target.path + target.query))
        .send()
      return true
    }
    const own = localeOf(raw.headers['accept-language'], locale)
    const text =
      reason === 'COOKIE_TWICE' ? message : inLocale(TEXTS[isOwnForm(shown, raw.headers) ? 'form' : 'frame'], own)
    const opens = shown === 'frame' ? '_top' : '_blank'
    sendShortPage(reply, 401, own, { title: TEXTS.signIn, text, link: TEXTS.signIn, href: page, target: opens })
    return true
  }
}

/** Browsers send no cookie with a form of another site: its sender may well be signed in. */
const isOwnForm = (shown: Shown, headers: IncomingHttpHeaders): boolean =>
  shown === 'form' && headers['sec-fetch-site'] !== 'cross-site'
