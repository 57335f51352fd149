import { h, notify } from '../elements/dom.js'
import { shownOnce } from '../elements/shown-once.js'
import { t } from '../language/language.js'

/**
 * Recovery codes, to print or copy.
 *
 * @param {{ codes: string[], username: string, done: () => void }} options
 */
export const recoveryCodes = ({ codes, username, done }) =>
  shownOnce({
    body: [
      h('p', {}, t('recovery_codes_detail')),
      h(
        'div',
        { class: 'print' },
        h('p', { class: 'only-print' }, ownerText(username)),
        h(
          'ol',
          { class: 'codes' },
          codes.map(code => h('li', {}, h('code', {}, code))),
        ),
      ),
      h('p', { class: 'buttons' }, printButton(), copyButton(codes.join('\n'))),
    ],
    kept: 'recovery_codes_kept',
    done,
  })

/** @param {string} username Empty where a provider has proven the user. */
const ownerText = username =>
  username === ''
    ? t('recovery_codes_at', { gateway: location.host })
    : t('recovery_codes_of', { user: username, gateway: location.host })

const printButton = () => h('button', { type: 'button', onclick: () => window.print() }, t('print'))

/**
 * A button that copies a text. Browsers offer the clipboard to pages that came over HTTPS or from the same machine.
 *
 * @param {string} text
 * @param {import('../language/language.js').TextName} [label]
 */
export const copyButton = (text, label = 'copy') =>
  navigator.clipboard !== undefined &&
  h(
    'button',
    {
      type: 'button',
      onclick: () =>
        navigator.clipboard.writeText(text).then(
          () => notify(t('copied')),
          () => notify(t('not_copied')),
        ),
    },
    t(label),
  )
