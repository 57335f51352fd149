import { get, post } from './api.js'
import { confirm, openDialog } from './dialogs.js'
import { h, notify, show } from './dom.js'
import { duration } from './format.js'
import { faultText, t } from './language.js'
import { isOwner, may } from './session.js'

/** What can be chosen, in seconds: ten minutes, an hour, a day, a week, thirty days. */
const TIMES = [600, 3600, 86_400, 604_800, 2_592_000]

/**
 * Asks for how long a user is barred from signing in, and does it.
 *
 * @param {{ base: string, userId: string, name: string, done: () => void }} options
 */
export function askToBar({ base, userId, name, done }) {
  const time = h(
    'select',
    { id: 'bar-time' },
    TIMES.map(seconds => h('option', { value: seconds }, duration(seconds))),
  )
  time.value = '3600'
  const alsoEnd = h('input', { type: 'checkbox', id: 'bar-end', checked: true })
  confirm({
    title: t('bar_title', { user: name }),
    why: [t('bar_why'), ...(isOwner(base, userId) ? [t('bar_own_why')] : [])],
    action: t('bar'),
    body: [
      h('div', { class: 'field' }, h('label', { for: 'bar-time' }, t('bar_for')), time),
      ...(may('end') ? [h('label', { class: 'choice' }, alsoEnd, t('bar_and_end'))] : []),
    ],
    async run() {
      const seconds = Number(time.value)
      await post(`${base}/disable`, { user_id: userId, seconds })
      if (may('end') && alsoEnd.checked) await post(`${base}/exit`, { user_id: userId })
      notify(t('barred_done', { user: name, time: duration(seconds) }))
      done()
    },
  })
}

/**
 * Whether a user is barred, with the way out of it.
 *
 * @param {{ base: string, userId: string, name: string, done?: () => void }} options
 */
export async function barState({ base, userId, name, done = () => {} }) {
  const place = h('p', { class: 'bar-state' })
  await look()
  return place

  async function look() {
    const { is_disable, disable_time } = await get(`${base}/disabled`, { user_id: userId })
    show(
      place,
      h(
        'span',
        { class: is_disable ? 'tag barred' : 'tag' },
        is_disable ? t('barred', { time: duration(disable_time) }) : t('not_barred'),
      ),
      is_disable && h('button', { type: 'button', class: 'small', 'data-key': 'untie', onclick: untie }, t('untie')),
    )
  }

  async function untie() {
    try {
      await post(`${base}/untie-disable`, { user_id: userId })
      notify(t('untied_done', { user: name }))
      await look()
      done()
    } catch (problem) {
      notify(faultText(problem))
    }
  }
}

/**
 * Looks any login id up, online or not.
 *
 * @param {{ base: string, userId?: string, done: () => void }} options
 */
export function openBars({ base, userId = '', done }) {
  const id = h('input', {
    id: 'bar-id',
    required: true,
    maxlength: 128,
    autocomplete: 'off',
    spellcheck: 'false',
    autofocus: true,
  })
  id.value = userId
  const answer = h('div', { class: 'bar-answer', 'aria-live': 'polite' })
  const form = h(
    'form',
    { class: 'inline', onsubmit: check },
    h('div', { class: 'field' }, h('label', { for: 'bar-id' }, t('login_id')), id),
    h('button', { type: 'submit', class: 'primary' }, t('check')),
  )
  openDialog({ title: t('bars'), body: [h('p', {}, t('bars_why')), form, answer] })
  if (userId !== '') form.requestSubmit()

  /** @param {SubmitEvent} event */
  async function check(event) {
    event.preventDefault()
    await look(id.value.trim())
  }

  /** @param {string} asked */
  async function look(asked) {
    try {
      const again = () => {
        void look(asked)
        done()
      }
      const state = await barState({ base, userId: asked, name: asked, done })
      const bar = h(
        'button',
        {
          type: 'button',
          class: 'small danger',
          onclick: () => askToBar({ base, userId: asked, name: asked, done: again }),
        },
        `${t('bar')}…`,
      )
      show(answer, h('p', {}, h('code', {}, asked)), state, bar)
    } catch (problem) {
      show(answer, h('p', { class: 'fault', role: 'alert' }, faultText(problem)))
    }
  }
}
