import { codeField, enrolment, notTurnedOn } from '../account/enrolment.js'
import { createNewPassword } from '../account/new-password.js'
import { recoveryCodes } from '../account/recovery-codes.js'
import { CallError, post, postRepeatable, publicRoute } from '../api.js'
import { h, show } from '../elements/dom.js'
import { actionForm, focusFirst } from '../elements/forms.js'
import { retryButton } from '../elements/whole-page.js'
import { encrypted } from '../encryption.js'
import { faultText, t } from '../language/language.js'

/*
 * The steps of a login after the password, by the names that the gateway has for them. Each returns a function that draws it; drawn
 * again, in another language, it keeps what was typed.
 */

/** @typedef {import('./sign-in.js').Progress} Progress */

/** @param {Progress} progress */
const secondFactor = ({ ticket, username, send, restart }) => {
  const code = codeField('code', { allowsRecovery: true })
  return () =>
    actionForm({
      class: 'sign-in',
      title: [heading('step_second_factor')],
      body: [
        h('p', { class: 'quiet' }, t(username === '' ? 'step_second_factor_proven' : 'step_second_factor_detail')),
        code.draw(),
      ],
      action: t('continue'),
      beside: [backButton(restart)],
      run: () => send('login/second-factor', { ticket, code: code.value() }),
      failed: code.clear,
    }).element
}

/** @param {Progress} progress */
const password = ({ ticket, username, password: current, send, restart }) => {
  const chosen = createNewPassword({ username, current: () => current })
  return () =>
    actionForm({
      class: 'sign-in',
      title: [heading('step_password')],
      body: [h('p', { class: 'quiet' }, t('step_password_detail')), ...chosen.draw()],
      action: t('continue'),
      beside: [backButton(restart)],
      run: async () => send('login/password', { ticket, new_password: await encrypted(chosen.value()) }, post),
      failed: chosen.failed,
    }).element
}

/** @param {Progress} progress */
const secondFactorSetup = ({ ticket, send, restart }) => {
  /** @type {() => Promise<import('../account/enrolment.js').NewFactor>} */
  const create = () => postRepeatable(publicRoute('login/second-factor/setup'), { ticket })
  let created = create()
  const code = codeField('code')

  /** @param {import('../account/enrolment.js').NewFactor} factor */
  const formOf = factor =>
    actionForm({
      title: [heading('step_setup')],
      body: [h('p', { class: 'quiet' }, t('step_setup_detail')), ...enrolment(factor), code.draw()],
      action: t('continue'),
      beside: [backButton(restart)],
      run: () => send('login/second-factor', { ticket, code: code.value() }, post),
      failed: problem => notTurnedOn(problem, code),
    }).element

  return () => {
    const place = h('div', { class: 'sign-in' })
    const again = () => {
      created = create()
      load()
    }
    const load = () => {
      show(place, h('p', { class: 'quiet' }, t('loading')))
      created.then(
        factor => {
          const isFocusLost = document.activeElement === document.body || document.activeElement === place
          show(place, formOf(factor))
          if (isFocusLost) focusFirst(place)
        },
        problem => show(place, ...notCreated(problem, { again, restart })),
      )
    }
    load()
    return place
  }
}

/**
 * @param {unknown} problem
 * @param {{ again: () => void, restart: () => void }} ways
 */
const notCreated = (problem, { again, restart }) => [
  h('p', { class: 'fault', role: 'alert' }, faultText(problem)),
  h('footer', {}, backButton(restart), problem instanceof CallError && problem.isTemporary && retryButton(again)),
]

/** @satisfies {Record<string, (progress: Progress) => () => Node>} */
export const STEPS = { 'second-factor': secondFactor, password, 'second-factor-setup': secondFactorSetup }

/**
 * @param {string[]} codes
 * @param {string} username
 * @param {() => void} next
 */
export const codesStep = (codes, username, next) =>
  h(
    'div',
    { class: 'sign-in' },
    h('header', {}, heading('recovery_codes')),
    recoveryCodes({ codes, username, done: next }),
  )

/** @param {import('../language/language.js').TextName} name */
const heading = name => h('h1', {}, t(name))

/** @param {() => void} restart */
const backButton = restart => h('button', { type: 'button', onclick: restart }, t('back'))
