import { post } from '../api.js'
import { confirm } from '../elements/dialogs.js'
import { notify } from '../elements/dom.js'
import { rowButton } from '../elements/tables.js'
import { t } from '../language/language.js'

/**
 * The button in the row of a key that revokes it, after a confirmation.
 *
 * @param {import('./listed.js').Key} key
 * @param {object} options
 * @param {string} options.route What revokes keys.
 * @param {object} options.body What is sent to it.
 * @param {string[]} [options.details] What the confirmation says beside the loss of the key.
 * @param {() => unknown} options.done Called after it.
 */
export const revokeButton = ({ id, name, hint }, { route, body, details = [], done }) =>
  rowButton({
    key: `revoke ${id}`,
    text: `${t('revoke')}…`,
    about: `${name}, ${hint}…`,
    look: 'small danger',
    onclick: () =>
      confirm({
        title: t('revoke_title', { name }),
        details: [...details, t('revoke_detail', { hint })],
        action: t('revoke'),
        reload: done,
        async run() {
          await post(route, body)
          notify(t('revoked', { name }))
        },
      }),
  })
