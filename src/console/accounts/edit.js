import { CallError, get, post } from '../api.js'
import { openDialog } from '../elements/dialogs.js'
import { h, notify, show } from '../elements/dom.js'
import { actionForm, cancelButton } from '../elements/forms.js'
import { t } from '../language/language.js'
import { accountFields, differ } from './fields.js'
import { isOwn, nameOf } from './listed.js'

/** @typedef {import('./listed.js').ListedAccount} ListedAccount */

/**
 * @param {ListedAccount} account
 * @param {import('./listed.js').Side} side
 */
export function openEdit(account, side) {
  const options = { roles: side.roles, isOwn: isOwn(account, side) }
  /** The account as it was read last. */
  let read = account
  let fields = accountFields(read, options)
  const place = h('div', {}, fields.body)
  /** Whether the last attempt changed what has changed since. */
  let isOutdated = false
  const form = actionForm({
    body: [!options.isOwn && h('p', { class: 'quiet' }, t('edit_detail')), place],
    action: t('save'),
    beside: [cancelButton(() => dialog.close())],
    async run() {
      isOutdated = false
      const typed = changesOf(fields.values(), read)
      // Nothing is saved then, and the account may not even be there any more.
      if (Object.keys(typed).length === 0) return dialog.close()
      try {
        await post(`${side.base}/edit`, { id: read.id, revision: read.revision, ...typed })
      } catch (problem) {
        const now = await changedMeanwhile(problem, { read, typed, side })
        if (now !== null) readAgain(now)
        throw problem
      }
      dialog.close()
      notify(t('saved', { user: nameOf(account) }))
    },
    failed: () => (isOutdated ? t('account_changed') : undefined),
    reload: side.changed,
  })

  /** @param {ListedAccount} now */
  function readAgain(now) {
    isOutdated = true
    // What was typed while the answer was on its way stays, too.
    const typed = changesOf(fields.values(), read)
    fields = accountFields(now, { ...options, typed, before: account })
    read = now
    show(place, fields.body)
  }

  const dialog = openDialog({ title: t('edit_title', { user: nameOf(account) }), body: [form.element] })
}

/**
 * What stays as it is, is not sent: another administrator may have changed it meanwhile.
 *
 * @param {import('./fields.js').Editable} values
 * @param {ListedAccount} read
 * @returns {Partial<import('./fields.js').Editable>}
 */
const changesOf = (values, read) =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => differ(value, Reflect.get(read, name) ?? '')))

/**
 * The account as it is now, if it is why an edit was refused: one of the same fields has changed since it was read.
 *
 * @param {unknown} problem
 * @param {{ read: ListedAccount, typed: object, side: import('./listed.js').Side }} edit
 * @returns {Promise<ListedAccount | null>}
 */
async function changedMeanwhile(problem, { read, typed, side }) {
  if (!(problem instanceof CallError) || problem.code !== 400) return null
  // Without an answer, the text of the refusal is all that is known.
  const now = await get(`${side.base}/detail`, { id: read.id }).catch(() => null)
  const hasChanged = (/** @type {string} */ name) => differ(Reflect.get(now, name), Reflect.get(read, name))
  return now !== null && Object.keys(typed).some(hasChanged) ? now : null
}
