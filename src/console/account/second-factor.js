import { post, postRepeatable } from '../api.js'
import { openForms } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { actionForm } from '../elements/forms.js'
import { openShownOnce } from '../elements/shown-once.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { codeField, enrolment, notTurnedOn } from './enrolment.js'
import { proofFields } from './proof.js'
import { recoveryCodes } from './recovery-codes.js'

/** Below this number of recovery codes, new ones are advised. */
const FEW_CODES = 4

/** @typedef {import('./account.js').Account} Account */

/**
 * @param {Account} account
 * @param {() => void} changed
 */
export function secondFactorPanel(account, changed) {
  const { second_factor: isOn, recovery_codes_left: left } = account
  const isFew = left !== null && left < FEW_CODES
  return h(
    'section',
    { class: 'panel' },
    h(
      'h2',
      {},
      t('second_factor'),
      h('span', { class: isOn ? 'tag' : 'tag off', 'data-key': 'state' }, t(isOn ? 'on' : 'off')),
    ),
    h('p', { class: 'quiet' }, t(isOn ? 'second_factor_on' : 'second_factor_off')),
    isOn &&
      left !== null &&
      h('p', { class: isFew ? 'advice' : 'quiet' }, t(isFew ? 'few_codes_left' : 'codes_left', { n: count(left) })),
    h('p', { class: 'buttons' }, isOn ? changeButtons(account, changed) : setUpButton(account, changed)),
  )
}

/**
 * @param {string} key
 * @param {string} text
 * @param {() => void} onclick
 * @param {string | null} [look]
 */
const button = (key, text, onclick, look = null) =>
  h('button', { type: 'button', class: look, 'data-key': key, onclick }, `${text}…`)

/**
 * @param {Account} account
 * @param {() => void} changed
 */
const setUpButton = (account, changed) => [button('set-up', t('set_up'), () => openSetUp(account, changed), 'primary')]

/**
 * @param {Account} account
 * @param {() => void} changed
 */
const changeButtons = (account, changed) => [
  button('new-codes', t('new_codes'), () => openNewCodes(account, changed)),
  button('replace', t('other_app'), () => openSetUp(account, changed)),
  account.second_factor_required !== true && button('remove', t('remove'), () => openRemove(changed), 'danger'),
]

/**
 * @param {string[]} codes
 * @param {Account} account
 */
const openCodes = (codes, { username }) =>
  openShownOnce(t('recovery_codes'), done => recoveryCodes({ codes, username: username ?? '', done }))

/**
 * @param {Account} account
 * @param {() => void} changed
 */
function openSetUp(account, changed) {
  const forms = openForms(t('set_up_title'))
  // Who has a factor already proves it, too.
  const proof = proofFields(account.second_factor === true)
  const ask = actionForm({
    body: [h('p', {}, t('set_up_detail')), ...proof.body],
    action: t('continue'),
    beside: [forms.cancel],
    run: async () => scan(await postRepeatable('b/account/second-factor/setup', await proof.values())),
    failed: proof.failed,
  })
  forms.show(ask.element)

  /** @param {import('./enrolment.js').NewFactor} factor */
  function scan(factor) {
    const code = codeField('code')
    const confirm = actionForm({
      body: [h('p', {}, t('scan_detail')), ...enrolment(factor), code.draw()],
      action: t('turn_on'),
      beside: [forms.cancel],
      async run() {
        const { recovery_codes: codes } = await post('b/account/second-factor/confirm', { code: code.value() })
        forms.close()
        openCodes(codes, account)
      },
      failed: problem => notTurnedOn(problem, code),
      reload: changed,
    })
    forms.show(confirm.element)
  }
}

/**
 * @param {Account} account
 * @param {() => void} changed
 */
function openNewCodes(account, changed) {
  const forms = openForms(t('new_codes'))
  const proof = proofFields(true)
  const ask = actionForm({
    body: [h('p', {}, t('new_codes_detail')), ...proof.body],
    action: t('new_codes'),
    beside: [forms.cancel],
    async run() {
      const { recovery_codes: codes } = await post('b/account/second-factor/recovery-codes', await proof.values())
      forms.close()
      openCodes(codes, account)
    },
    failed: proof.failed,
    reload: changed,
  })
  forms.show(ask.element)
}

/** @param {() => void} changed */
function openRemove(changed) {
  const forms = openForms(t('remove_title'))
  const proof = proofFields(true)
  const ask = actionForm({
    body: [h('p', {}, t('remove_detail')), ...proof.body],
    action: t('remove'),
    look: 'danger',
    beside: [forms.cancel],
    async run() {
      await post('b/account/second-factor/remove', await proof.values())
      forms.close()
      notify(t('removed'))
    },
    failed: proof.failed,
    reload: changed,
  })
  forms.show(ask.element)
}
