import { listOf } from '../accounts/roles.js'
import { h } from '../elements/dom.js'
import { choice, field, textInput } from '../elements/forms.js'
import { t } from '../language/language.js'

/**
 * The choice of the permissions of a new key: all of its owner, or only some of them.
 *
 * @param {object} options
 * @param {import('../language/language.js').TextName} options.all The label of the first.
 * @param {string[]} options.held The permissions and patterns of the owner.
 */
export function permissionChoice({ all, held }) {
  const every = radio('every-permission', true)
  const some = radio('only-permissions', false)
  const offered = held
    // A pattern for everything is what the first choice is.
    .filter(code => code !== '*' && code !== '**')
    .map(code => ({ code, box: h('input', { type: 'checkbox', 'data-key': `permission ${code}` }) }))
  const others = textInput('other-permissions')
  const list = h(
    'div',
    { class: 'some' },
    offered.length > 0 &&
      h(
        'div',
        { class: 'options' },
        offered.map(({ code, box }) => choice(box, code)),
      ),
    field({
      id: 'other-permissions',
      label: t('other_permissions'),
      hint: t('other_permissions_hint'),
      input: others,
    }),
  )
  draw()
  for (const one of [every, some]) one.addEventListener('change', draw)

  function draw() {
    list.hidden = every.checked
  }

  return {
    body: [
      h(
        'fieldset',
        { class: 'column' },
        h('legend', {}, t('permissions')),
        choice(every, t(all)),
        choice(some, t('only_permissions')),
        list,
      ),
    ],
    /** What is sent of it. */
    values: () =>
      every.checked
        ? {}
        : {
            permissions: [
              ...new Set([...offered.flatMap(({ code, box }) => (box.checked ? [code] : [])), ...listOf(others.value)]),
            ],
          },
  }
}

/**
 * @param {string} id
 * @param {boolean} checked
 */
const radio = (id, checked) => h('input', { type: 'radio', name: 'permissions', id, checked })
