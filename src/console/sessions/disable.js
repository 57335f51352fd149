import { get, post } from '../api.js'
import { confirm, openDialog } from '../elements/dialogs.js'
import { h, notify, show } from '../elements/dom.js'
import { onceAtATime } from '../elements/forms.js'
import { createLoads } from '../elements/loads.js'
import { duration } from '../language/format.js'
import { faultText, InputFault, t } from '../language/language.js'
import { can, isOwner, session } from '../session.js'

/** The selectable durations in seconds: ten minutes, an hour, a day, a week, thirty days. */
const TIMES = [600, 3600, 86_400, 604_800, 2_592_000]

/** @typedef {{ base: string, userId: string, name: string, done: () => void }} User A user of one side; `done` is called after a change. */

/**
 * Disables a user for a chosen time, after a confirmation.
 *
 * @param {User} user
 */
export function confirmDisable(user) {
  const { base, userId, name, done } = user
  const time = h(
    'select',
    { id: 'disable-time' },
    TIMES.map(seconds => h('option', { value: seconds }, duration(seconds))),
  )
  time.value = '3600'
  const alsoEnd = h('input', { type: 'checkbox', id: 'disable-end', checked: true })
  let isShorterMeant = false
  confirm({
    title: t('disable_title', { user: name }),
    details: [t('disable_detail'), ...(isOwner(base, userId) ? [t('disable_own_detail')] : [])],
    action: t('disable'),
    reload: done,
    body: [
      h('div', { class: 'field' }, h('label', { for: 'disable-time' }, t('disable_for')), time),
      ...(can('end') ? [h('label', { class: 'choice' }, alsoEnd, t('disable_and_end'))] : []),
    ],
    async run() {
      const seconds = Number(time.value)
      // Another administrator may have disabled the user meanwhile.
      if (!isShorterMeant && (await isDisabledBeyond(seconds, { base, userId }))) {
        isShorterMeant = true
        throw new InputFault('disabled_longer')
      }
      await post(`${base}/disable`, { user_id: userId, seconds })
      const isDisabled = t('disabled_done', { user: name, time: duration(seconds) })
      if (can('end') && alsoEnd.checked) return endAlso(user, isDisabled)
      notify(isDisabled)
    },
  })
}

/**
 * Ends the sessions of a user who is disabled by now. If the gateway does not confirm the end, another dialog says what is done and
 * what may not be, and repeats the end alone.
 *
 * @param {User} user
 * @param {string} isDisabled What the administrator reads of the first half.
 */
async function endAlso(user, isDisabled) {
  const { base, userId, name, done } = user
  try {
    await post(`${base}/exit`, { user_id: userId })
    notify(isDisabled)
  } catch (problem) {
    // An ended session has already led to the sign-in.
    if (session.handle === null) throw problem
    const fault = `${t('end_unconfirmed')} ${faultText(problem)}`
    return () =>
      confirm({
        title: t('end_all_title', { user: name }),
        details: [isDisabled],
        fault,
        action: t('end_all'),
        reload: done,
        async run() {
          await post(`${base}/exit`, { user_id: userId })
          notify(t('ended_all', { user: name }))
        },
      })
  }
}

/**
 * Whether a user is disabled for more than so many seconds.
 *
 * @param {number} seconds
 * @param {{ base: string, userId: string }} user
 */
async function isDisabledBeyond(seconds, { base, userId }) {
  const { disable_time } = await get(`${base}/disabled`, { user_id: userId })
  return disable_time > seconds
}

/**
 * Shows whether a user is disabled, with a button to enable the user again.
 *
 * @param {{ base: string, userId: string, name: string, done?: () => void }} options
 */
export async function disableState({ base, userId, name, done = () => {} }) {
  const place = h('p', { class: 'disable-state' })
  await load()
  return place

  async function load() {
    const { is_disable, disable_time } = await get(`${base}/disabled`, { user_id: userId })
    show(
      place,
      h(
        'span',
        { class: is_disable ? 'tag disabled' : 'tag' },
        is_disable ? t('disabled', { time: duration(disable_time) }) : t('not_disabled'),
      ),
      is_disable &&
        h(
          'button',
          { type: 'button', class: 'small', 'data-key': 'enable', onclick: onceAtATime(enable, reload) },
          t('enable'),
        ),
    )
  }

  async function enable() {
    await post(`${base}/untie-disable`, { user_id: userId })
    notify(t('enabled_done', { user: name }))
  }

  async function reload() {
    // What was shown may be over.
    await load().catch(problem => show(place, h('span', { class: 'fault', role: 'alert' }, faultText(problem))))
    done()
  }
}

/**
 * Shows whether a login id is disabled, online or not.
 *
 * @param {{ base: string, userId?: string, done: () => void }} options
 */
export function openLoginIdCheck({ base, userId = '', done }) {
  const input = h('input', {
    id: 'login-id',
    required: true,
    maxlength: 128,
    autocomplete: 'off',
    spellcheck: 'false',
    autofocus: true,
  })
  input.value = userId
  const answer = h('div', { class: 'login-id-state', 'aria-live': 'polite' })
  const begin = createLoads()
  const form = h(
    'form',
    { class: 'inline', onsubmit: check },
    h('div', { class: 'field' }, h('label', { for: 'login-id' }, t('login_id')), input),
    h('button', { type: 'submit', class: 'primary' }, t('check')),
  )
  openDialog({ title: t('check_id'), body: [h('p', {}, t('check_id_detail')), form, answer] })
  if (userId !== '') form.requestSubmit()

  /** @param {SubmitEvent} event */
  async function check(event) {
    event.preventDefault()
    await load(input.value.trim())
  }

  /** @param {string} id */
  async function load(id) {
    const isNewest = begin()
    try {
      const reload = () => {
        void load(id)
        done()
      }
      const state = await disableState({ base, userId: id, name: id, done })
      if (!isNewest()) return
      const disable = h(
        'button',
        {
          type: 'button',
          class: 'small danger',
          'data-key': 'disable',
          onclick: () => confirmDisable({ base, userId: id, name: id, done: reload }),
        },
        `${t('disable')}…`,
      )
      show(answer, h('p', {}, h('code', {}, id)), state, disable)
    } catch (problem) {
      if (!isNewest()) return
      show(answer, h('p', { class: 'fault', role: 'alert' }, faultText(problem)))
    }
  }
}
