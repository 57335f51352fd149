import { CallError } from '../api.js'
import { h, show } from '../elements/dom.js'
import { choice, field, passwordInput } from '../elements/forms.js'
import { InputFault, t } from '../language/language.js'
import { faultsOf, ruleNames, ruleText } from './password-rules.js'

/**
 * The fields for a new password. They show, while it is typed, which rules of the gateway it fulfils, and keep what was typed when
 * they are drawn again.
 *
 * @param {object} options
 * @param {string | (() => string)} options.username
 * @param {() => string} [options.current] The password in use, as far as it was typed here.
 * @param {boolean} [options.isOwn] Whether the password is that of the user of this page.
 */
export function createNewPassword({ username, current = () => '', isOwn = true }) {
  const input = passwordInput('new-password', 'new-password', { 'aria-describedby': 'rules' })
  const repeated = passwordInput('repeated', 'new-password')
  const isShown = h('input', { type: 'checkbox', id: 'show-password', onchange: showOrHide })
  const rules = h('ul', { class: 'rules', id: 'rules' })
  /** Faults that the gateway has found in the password that was sent. */
  let refused = { password: '', faults: /** @type {string[]} */ ([]) }

  const name = () => (typeof username === 'string' ? username : username())
  const faults = () => [
    ...faultsOf(input.value, { username: name(), current: current() }),
    ...(input.value === refused.password ? refused.faults : []),
    ...(input.value === repeated.value ? [] : ['repeated']),
  ]

  const drawRules = () => show(rules, ruleList(input.value, faults()))

  /** All of it, in the language of the page. */
  function draw() {
    drawRules()
    return [
      isOwn && nameForManagers(name()),
      field({ id: 'new-password', label: t('new_password'), input }),
      field({ id: 'repeated', label: t('repeat_password'), input: repeated }),
      choice(isShown, t('show_password')),
      rules,
    ]
  }

  function showOrHide() {
    for (const one of [input, repeated]) one.type = isShown.checked ? 'text' : 'password'
  }

  for (const one of [input, repeated]) one.addEventListener('input', drawRules)
  return {
    draw,
    drawRules,
    /** The new password; throws if it is known not to fulfil the rules. */
    value() {
      drawRules()
      if (faults().length === 0) return input.value
      input.focus()
      throw new InputFault('password_unmet')
    },
    /**
     * Shows what the gateway has found.
     *
     * @param {unknown} problem
     */
    failed(problem) {
      if (isOwn && problem instanceof CallError && problem.own === 'unsure') return t('unsure_password')
      const found = problem instanceof CallError ? problem.data?.faults : undefined
      if (!Array.isArray(found)) return undefined
      refused = { password: input.value, faults: found }
      drawRules()
      input.focus()
      return t('password_unmet')
    },
  }
}

/**
 * Password managers store the new password under this name.
 *
 * @param {string} username
 */
const nameForManagers = username =>
  h('input', {
    type: 'text',
    class: 'unseen',
    autocomplete: 'username',
    value: username,
    tabindex: -1,
    readonly: true,
    'aria-hidden': 'true',
  })

/**
 * The rules, each fulfilled or not. Whether a password is common is known when the gateway has checked it.
 *
 * @param {string} password
 * @param {string[]} faults
 */
const ruleList = (password, faults) =>
  [...ruleNames(faults), 'repeated'].map(rule => {
    const isOpen = password === '' || (rule === 'common' && !faults.includes(rule))
    const state = isOpen ? 'open' : faults.includes(rule) ? 'unmet' : 'met'
    return h(
      'li',
      { class: state },
      ruleText(rule, isOpen),
      state !== 'open' && h('span', { class: 'unseen' }, t(state)),
    )
  })
