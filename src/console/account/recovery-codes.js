import { h, notify } from '../elements/dom.js'
import { actionForm, choice } from '../elements/forms.js'
import { t } from '../language/language.js'

/**
 * Recovery codes, to print or copy. They are shown once, so the user confirms that they are kept before the page goes on.
 *
 * @param {{ codes: string[], username: string, done: () => void }} options
 */
export function recoveryCodes({ codes, username, done }) {
  const isKept = h('input', { type: 'checkbox', id: 'codes-kept', required: true })
  return actionForm({
    body: [
      h('p', {}, t('recovery_codes_detail')),
      h(
        'div',
        { class: 'print' },
        h('p', { class: 'only-print' }, t('recovery_codes_of', { user: username, gateway: location.host })),
        h(
          'ol',
          { class: 'codes' },
          codes.map(code => h('li', {}, h('code', {}, code))),
        ),
      ),
      h('p', { class: 'buttons' }, printButton(), copyButton(codes.join('\n'))),
      choice(isKept, t('recovery_codes_kept')),
    ],
    action: t('continue'),
    run: async () => done(),
  }).element
}

const printButton = () => h('button', { type: 'button', onclick: () => window.print() }, t('print'))

/**
 * A button that copies a text. Browsers offer the clipboard to pages that came over HTTPS or from the same machine.
 *
 * @param {string} text
 */
export const copyButton = text =>
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
    t('copy'),
  )
