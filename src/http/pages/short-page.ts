import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal, Unavailable } from '../../base/refusal.ts'
import { FAILURES, failureMessage, inLocale, type Locale, type Text } from '../server/failure-texts.ts'

/* A page of one sentence and one link, for a person who gets it in the place of another page. */

export interface ShortPage {
  title: Text
  text: string
  link: Text
  /** Encoded: it is written as it is. */
  href: string
  target?: '_top' | '_blank'
}

/** Without `frame-ancestors`, so that it can be read where the page stood. */
const HTML = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none';style-src 'self';base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** The language of a person: that of the browser, or of the gateway. */
export const localeOf = (accepted: string | undefined, locale: Locale): Locale =>
  accepted === undefined ? locale : /^\s*zh\b/i.test(accepted) ? 'zh-CN' : 'en'

/** Answers a refusal to a person who waits for a page: what it says, and the way back. What is no refusal is thrown. */
export function showRefusal(
  fault: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { locale, ...wayBack }: Pick<ShortPage, 'title' | 'link' | 'href'> & { locale: Locale },
): FastifyReply {
  if (!(fault instanceof Refusal)) throw fault
  noteRefusal(fault, request)
  const { reason, params, retryAfter } = fault
  const own = localeOf(request.raw.headers['accept-language'], locale)
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  reply.header('cache-control', 'no-store')
  return sendShortPage(reply, FAILURES[reason].code, own, { ...wayBack, text: failureMessage(reason, params, own) })
}

/** Keeps a refusal for log and metrics, whatever the answer to its person is. */
export function noteRefusal(fault: Refusal, request: FastifyRequest): void {
  if (fault instanceof Unavailable) request.log.error({ err: fault }, 'unavailable')
  request.refused = fault.reason
}

export function sendShortPage(reply: FastifyReply, status: number, locale: Locale, page: ShortPage): FastifyReply {
  return reply.code(status).headers(HTML).send(pageOf(locale, page))
}

/** Holds nothing of the address of the request. */
const pageOf = (locale: Locale, { title, text, link, href, target }: ShortPage): string => `<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${inLocale(title, locale)}</title>
<link rel="stylesheet" href="/sign-in/files/sign-in.css">
</head>
<body>
<main class="whole-page">
<p>${text}</p>
<p><a href="${href}"${target === undefined ? '' : ` target="${target}"`}>${inLocale(link, locale)}</a></p>
</main>
</body>
</html>
`
