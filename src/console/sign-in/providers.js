import { h } from '../elements/dom.js'
import { t } from '../language/language.js'
import { preferences } from '../preferences.js'
import { reasonOf } from './credentials.js'
import { carried } from './destination.js'
import { keepFragment } from './kept-fragment.js'

/* The sign-in by OpenID providers. Only its user begins it: a page that did so by itself could lead back to itself without end. */

/** @typedef {{ name: string, label: string | { en: string, 'zh-CN': string } }} Provider */

/**
 * A button for each provider, each in a form of its own: browsers send it without a script, and follow where it leads.
 *
 * @param {readonly Provider[]} providers
 * @param {string} to Where the user wants to go.
 */
const providerButtons = (providers, to) =>
  providers.map(({ name, label }) =>
    h(
      'form',
      { method: 'post', action: `${name}/start`, class: 'provider', onsubmit: () => keepFragment(to) },
      h('button', { type: 'submit', 'data-key': `provider ${name}` }, labelIn(label)),
      h('input', { type: 'hidden', name: 'to', value: carried(to) }),
    ),
  )

/** @param {Provider['label']} label */
const labelIn = label =>
  typeof label === 'string' ? label : label[preferences.language === 'zh' ? 'zh-CN' : preferences.language]

/**
 * The same below a form.
 *
 * @param {readonly Provider[]} providers
 * @param {string} to
 */
export const orByProvider = (providers, to) =>
  providers.length === 0 ? [] : [h('p', { class: 'or' }, t('or')), ...providerButtons(providers, to)]

/**
 * The first form of a sign-in where providers alone sign users in.
 *
 * @param {readonly Provider[]} providers
 * @param {string} to
 * @returns {(opening: import('./sign-in.js').Opening) => HTMLElement}
 */
export const providersAlone = (providers, to) => opening => {
  const { told, fault } = reasonOf(opening)
  return h(
    'div',
    { class: 'sign-in' },
    h('header', {}, opening.title()),
    told,
    fault !== null && h('p', { class: 'fault', role: 'alert' }, fault),
    h('p', { class: 'quiet' }, t('sign_in_by_provider')),
    providerButtons(providers, to),
  )
}
