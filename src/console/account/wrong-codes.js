import { addressOf } from '../address.js'
import { h } from '../elements/dom.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { session } from '../session.js'

/** @param {number} n */
export const wrongCodesText = n => t('wrong_codes', { n: count(n) })

/**
 * Above the first pages after a sign-in: that wrong codes were entered before it. It stays until the user closes it, or has read
 * it in the own account.
 *
 * @param {string} page The shown page.
 */
export function wrongCodesNotice(page) {
  if (page === 'account') session.wrongCodes = 0
  if (session.wrongCodes === 0) return null
  const notice = h(
    'div',
    { class: 'advice above-page', role: 'status' },
    h('span', {}, wrongCodesText(session.wrongCodes)),
    h('a', { href: addressOf('account'), 'data-key': 'to-account' }, t('account')),
    h('button', { type: 'button', class: 'small', 'data-key': 'seen', onclick: close }, t('close')),
  )

  function close() {
    session.wrongCodes = 0
    notice.remove()
  }

  return notice
}
