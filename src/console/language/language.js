import { CallError, settings } from '../api.js'
import { preferences } from '../preferences.js'
import { timeIn } from './clock.js'
import { TEXTS } from './texts.js'

/** @typedef {keyof typeof TEXTS.en} TextName */

/**
 * A text of the page in the chosen language; `{name}` is filled in.
 *
 * @param {TextName} name
 * @param {Record<string, string | number>} [values]
 */
export function t(name, values = {}) {
  return TEXTS[preferences.language][name].replace(/\{(\w+)\}/g, (_, value) => within(String(values[value] ?? '')))
}

/** What makes the text around it read from right to left: letters, and marks that turn what follows them (UAX #9). */
const TURNS = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
const MARKS = /[\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g

/**
 * A value in a sentence. Users choose their names: one turns no more than itself.
 *
 * @param {string} value
 */
function within(value) {
  const text = value.replace(MARKS, '\ufffd')
  return TURNS.test(text) ? `\u2068${text}\u2069` : text
}

/** What the user has typed cannot be sent. */
export class InputFault extends Error {
  /** @param {TextName} text */
  constructor(text) {
    super(text)
    this.text = text
  }
}

/**
 * The text for a failed call: the gateway's own message, translated into the language of the page if the gateway uses the
 * other one.
 *
 * @param {unknown} fault
 */
export function faultText(fault) {
  if (fault instanceof InputFault) return t(fault.text)
  if (!(fault instanceof CallError)) throw fault
  if (fault.own !== null) return t(fault.own)
  const disabledFor = fault.data?.disable_time
  if (disabledFor > 0) return t('disabled_until', { time: timeIn(disabledFor) })
  return fault.message === '' ? t('failed') : translated(fault.message)
}

/**
 * @param {string} message
 * @returns {string}
 */
function translated(message) {
  for (const pair of settings.messages) {
    for (const pattern of pair) {
      const values = matched(pattern, message)
      if (values === null) continue
      const translation = pair[preferences.language === 'en' ? 0 : 1]
      return translation.replace(/\{(\w+)\}/g, (_, name) => valueText(name, values[name] ?? ''))
    }
  }
  return message
}

/**
 * A value in a message. The fault of a field is a message itself, and fields have the names that they have in forms.
 *
 * @param {string} name
 * @param {string} value
 */
function valueText(name, value) {
  if (name === 'fault') return translated(value)
  return name === 'field' && value in TEXTS.en ? t(/** @type {TextName} */ (value)) : value
}

/**
 * The values that turn a pattern with `{name}` placeholders into this text, or `null` if it does not match.
 *
 * @param {string} pattern
 * @param {string} text
 * @returns {Record<string, string> | null}
 */
function matched(pattern, text) {
  const literal = pattern.split(/\{\w+\}/).map(escaped)
  const names = [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name]) => /** @type {string} */ (name))
  const found = new RegExp(`^${literal.join('(.+?)')}$`).exec(text)
  return found === null ? null : Object.fromEntries(names.map((name, i) => [name, found[i + 1] ?? '']))
}

/**
 * A regular expression of a text.
 *
 * @param {string} text
 */
export const escaped = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
