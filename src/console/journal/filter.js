import { addressOf, go } from '../address.js'
import { settings } from '../api.js'
import { h } from '../elements/dom.js'
import { field, textInput } from '../elements/forms.js'
import { timeAt } from '../language/clock.js'
import { t } from '../language/language.js'
import { EVENTS, inWords } from './events.js'

/**
 * The filter of the journal. It opens another address, so that the back button returns to the filter before.
 *
 * @param {Readonly<Record<string, string>>} query
 * @param {() => void} reload Called if the filter has not changed.
 */
export function journalFilter(query, reload) {
  const loginId = textInput('journal-login-id', { maxlength: 128 })
  const username = textInput('journal-username', { maxlength: 128 })
  const event = select('journal-event', [
    ['', t('any_event')],
    ...EVENTS.map(name => /** @type {[string, string]} */ ([name, inWords('event', name)])),
  ])
  const type = select('journal-type', [
    ['', t('both_sides')],
    ['BUSINESS', t('BUSINESS')],
    ['CONSUMER', t('CONSUMER')],
  ])
  const since = timeInput('journal-since')
  const until = timeInput('journal-until')
  loginId.value = query.login_id ?? ''
  username.value = query.username ?? ''
  event.value = query.event ?? ''
  type.value = query.type ?? ''
  since.value = typed(query.since)
  until.value = typed(query.until)

  /** @param {Event} submitted */
  function apply(submitted) {
    submitted.preventDefault()
    const chosen = {
      login_id: loginId.value.trim(),
      username: username.value.trim(),
      event: event.value,
      type: type.value,
      since: sent(since.value),
      until: sent(until.value),
    }
    if (addressOf('journal', chosen) === addressOf('journal', query)) reload()
    else go('journal', chosen)
  }

  return h(
    'form',
    { class: 'filter', onsubmit: apply },
    field({ id: 'journal-login-id', label: t('user_id'), input: loginId }),
    field({ id: 'journal-username', label: t('username'), input: username }),
    field({ id: 'journal-event', label: t('event'), input: event }),
    field({ id: 'journal-type', label: t('side'), input: type }),
    field({ id: 'journal-since', label: t('from_time'), input: since }),
    field({ id: 'journal-until', label: t('until_time'), input: until }),
    h(
      'div',
      { class: 'buttons' },
      h('button', { type: 'submit', class: 'primary', 'data-key': 'apply' }, t('show')),
      Object.keys(query).length > 0 &&
        h('button', { type: 'button', 'data-key': 'reset', onclick: () => go('journal') }, t('show_all')),
    ),
  )
}

/**
 * @param {string} id
 * @param {[value: string, text: string][]} options
 */
const select = (id, options) =>
  h(
    'select',
    { id },
    options.map(([value, text]) => h('option', { value }, text)),
  )

/**
 * Of any second: one in the address, with seconds, is refused otherwise.
 *
 * @param {string} id A time of the gateway's time zone, as the list shows it.
 */
const timeInput = id => h('input', { id, type: 'datetime-local', step: 'any' })

/** `YYYY-MM-DD HH:MM:SS`, as the gateway writes times. */
const sent = (/** @type {string} */ value) =>
  value === '' ? '' : `${value.replace('T', ' ')}${value.length === 16 ? ':00' : ''}`

/** As the gateway reads them. */
const FORM = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:(\.\d{1,3})\d*)?(Z|[+-]\d\d:?\d\d)?$/

/** What the field shows of a time in the address: it takes no offset, and no more than milliseconds. */
function typed(time = '') {
  const [, day, clock, fraction = '', offset] = FORM.exec(time) ?? []
  if (day === undefined) return ''
  const local = `${day}T${clock}`
  return (offset === undefined ? local : timeAt(Date.parse(local + offset), settings.timezone)) + fraction
}
