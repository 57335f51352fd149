import { get } from '../api.js'
import { h } from '../elements/dom.js'
import { choice, field, textInput } from '../elements/forms.js'
import { escaped, t } from '../language/language.js'

/** @typedef {{ name: string, permissions: string[], grantable: boolean }} Role A role that the gateway knows. */

/**
 * The roles that the gateway knows for a side.
 *
 * @param {{ base: string }} side
 * @returns {Promise<Role[]>}
 */
export const requestRoles = ({ base }) => get(`${base}/roles`)

/**
 * The choice of roles: those that the gateway knows and the administrator may grant, and a field for others, which backends may
 * know. A role that the gateway does not know, and that the account did not have, needs a confirmation: it may be mistyped.
 *
 * @param {readonly string[]} held The present roles of the account.
 * @param {readonly Role[]} known
 * @param {readonly string[]} [shown] Those that an administrator has chosen and confirmed before.
 */
export function roleChoice(held, known, shown = held) {
  const seen = [...held, ...shown]
  const offered = known
    .filter(({ grantable }) => grantable)
    .map(({ name, permissions }) => ({
      name,
      title: permissions.join(', '),
      box: h('input', { type: 'checkbox', 'data-key': `role ${name}`, checked: shown.includes(name) }),
    }))
  const isOffered = (/** @type {string} */ role) => offered.some(({ name }) => name === role)
  const others = textInput('account-roles', { oninput: warn })
  others.value = shown.filter(role => !isOffered(role)).join(', ')
  const warning = h('p', { class: 'advice', role: 'status', hidden: true })
  const isMeant = h('input', { type: 'checkbox', id: 'roles-meant' })
  const confirmation = choice(isMeant, t('roles_meant'))
  warn()

  function warn() {
    const isKnown = (/** @type {string} */ role) => seen.includes(role) || known.some(({ name }) => name === role)
    const unknown = listOf(others.value, seen).filter(role => !isKnown(role))
    warning.hidden = unknown.length === 0
    confirmation.hidden = warning.hidden
    isMeant.required = !warning.hidden
    isMeant.checked = false
    warning.textContent = warning.hidden ? '' : t('roles_unknown', { roles: unknown.join(', ') })
  }

  return {
    input: others,
    body: [
      offered.length > 0 &&
        h(
          'fieldset',
          {},
          h('legend', {}, t('roles')),
          offered.map(({ name, title, box }) => h('label', { class: 'choice', title }, box, name)),
        ),
      field({ id: 'account-roles', label: t('other_roles'), hint: t('list_hint'), input: others }),
      warning,
      confirmation,
    ],
    /** In the present order, so that nothing seems to have changed. */
    values() {
      const chosen = new Set([
        ...offered.flatMap(({ name, box }) => (box.checked ? [name] : [])),
        ...listOf(others.value, seen),
      ])
      return [...held.filter(role => chosen.has(role)), ...[...chosen].filter(role => !held.includes(role))]
    },
  }
}

/**
 * The words of a text. What an account holds already stays whole: a role or a permission may have spaces and commas in it.
 *
 * @param {string} text
 * @param {readonly string[]} [held]
 */
export function listOf(text, held = []) {
  const whole = held.filter(one => SEPARATOR.test(one)).sort((one, other) => other.length - one.length)
  const names = whole.map(one => `(?<![^${SEPARATORS}])${escaped(one)}(?![^${SEPARATORS}])`)
  return text.match(new RegExp([...names, `[^${SEPARATORS}]+`].join('|'), 'g')) ?? []
}

const SEPARATORS = ',，、\\s'
const SEPARATOR = new RegExp(`[${SEPARATORS}]`)
