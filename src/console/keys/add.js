import { proofFields } from '../account/proof.js'
import { get, settings } from '../api.js'
import { openForms } from '../elements/dialogs.js'
import { h } from '../elements/dom.js'
import { actionForm, areaInput, field, textInput } from '../elements/forms.js'
import { count } from '../language/format.js'
import { faultText, t } from '../language/language.js'
import { openNewKey } from './new-key.js'
import { permissionChoice } from './permissions.js'

/** Days that a new key lives, unless another number is chosen. */
const DAYS = 90

/** @typedef {import('../account/account.js').Account} Account */

/**
 * @typedef {object} NewKey
 * @property {string} title
 * @property {import('../elements/sides.js').SideName} type The side of the key.
 * @property {string} detail What stands above the form.
 * @property {import('../language/language.js').TextName} all The choice of every permission.
 * @property {(own: Account) => string[]} held The permissions and patterns of its owner.
 * @property {(own: Account) => string} user The name of its owner.
 * @property {(body: object) => Promise<import('./new-key.js').Made>} send
 * @property {() => unknown} done Called when the key is there.
 */

/**
 * Opens the form for a new key.
 *
 * @param {NewKey} wanted
 */
export const openAddKey = wanted => openProven(wanted.title, (own, forms) => addForm(wanted, own, forms))

/**
 * A dialog whose form needs the own account: users prove themselves in it.
 *
 * @param {string} title
 * @param {(own: Account, forms: ReturnType<typeof openForms>) => Node} form
 */
export async function openProven(title, form) {
  const forms = openForms(title)
  forms.show(h('p', { class: 'quiet' }, t('loading')))
  try {
    forms.show(form(await get('b/account'), forms))
  } catch (problem) {
    forms.show(h('p', { class: 'fault', role: 'alert' }, faultText(problem)))
  }
}

/**
 * @param {NewKey} wanted
 * @param {Account} own
 * @param {ReturnType<typeof openForms>} forms
 */
function addForm({ type, detail, all, held, user, send, done }, own, forms) {
  const fields = keyFields(type, { all, held: held(own) })
  const proof = proofFields(own.second_factor === true)
  return actionForm({
    body: [h('p', { class: 'quiet' }, detail), ...fields.body, ...proof.body],
    action: t('add_key'),
    beside: [forms.cancel],
    async run() {
      const values = fields.values()
      const made = await send({ ...values, ...(await proof.values()) })
      forms.close()
      openNewKey({ title: values.name, made, user: user(own), paths: values.paths ?? null })
    },
    failed: proof.failed,
    reload: done,
  }).element
}

/**
 * @param {import('../elements/sides.js').SideName} type
 * @param {{ all: import('../language/language.js').TextName, held: string[] }} options
 */
function keyFields(type, options) {
  const most = settings.keys[type]?.max_days ?? DAYS
  const name = textInput('key-name', { required: true, maxlength: 64 })
  const days = textInput('key-days', { type: 'number', required: true, min: 1, max: most, value: Math.min(DAYS, most) })
  const permissions = permissionChoice(options)
  const paths = areaInput('key-paths')
  const addresses = areaInput('key-addresses')
  const example = `${settings.api}/${type === 'BUSINESS' ? 'b' : 'c'}/orders`
  return {
    body: [
      field({ id: 'key-name', label: t('name'), input: name }),
      field({ id: 'key-days', label: t('days'), hint: t('days_hint', { n: count(most) }), input: days }),
      ...permissions.body,
      field({ id: 'key-paths', label: t('paths'), hint: t('paths_hint', { example }), input: paths }),
      field({ id: 'key-addresses', label: t('addresses'), hint: t('addresses_hint'), input: addresses }),
    ],
    /** What is sent of it. */
    values: () => ({
      name: name.value.trim(),
      days: Number(days.value),
      ...permissions.values(),
      ...listed('paths', paths.value),
      ...listed('addresses', addresses.value),
    }),
  }
}

/**
 * The lines of a text as a field; without one, there is no limit and no field.
 *
 * @template {string} N
 * @param {N} field
 * @param {string} text
 * @returns {{ [name in N]?: string[] }}
 */
function listed(field, text) {
  const lines = text.split('\n').flatMap(line => (line.trim() === '' ? [] : [line.trim()]))
  return /** @type {{ [name in N]?: string[] }} */ (lines.length === 0 ? {} : { [field]: lines })
}
