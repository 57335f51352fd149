import { settings } from '../api.js'
import { t } from '../language/language.js'

/*
 * The rules for new passwords, for hints while one is typed. The gateway decides: it knows the common passwords and the
 * password in use, which this page does not.
 */

const CLASSES = [/\p{Ll}/u, /\p{Lu}/u, /\p{Nd}/u, /[^\p{Ll}\p{Lu}\p{Nd}]/u]
/** What bcrypt reads. */
const MAX_BYTES = 72

/**
 * The names of the rules that a password breaks, as the gateway names them.
 *
 * @param {string} password
 * @param {{ username: string, current: string }} known
 */
export function faultsOf(password, { username, current }) {
  const { min_length, classes } = settings.passwords
  const is = {
    min_length: [...password].length < min_length,
    classes: CLASSES.filter(one => one.test(password)).length < classes,
    max_bytes: new TextEncoder().encode(password).length > MAX_BYTES,
    username: username !== '' && password.toLowerCase() === username.toLowerCase(),
    same: current !== '' && password === current,
  }
  return Object.entries(is).flatMap(([name, isBroken]) => (isBroken ? [name] : []))
}

/**
 * The rules to show: those that always matter, and the others when a password breaks them.
 *
 * @param {string[]} broken
 */
export function ruleNames(broken) {
  const { classes, common } = settings.passwords
  const always = ['min_length', ...(classes > 0 ? ['classes'] : []), ...(common === 'refuse' ? ['common'] : [])]
  return [...always, ...broken.filter(name => !always.includes(name) && name !== 'repeated')]
}

/**
 * @param {string} rule
 * @param {boolean} isOpen Whether the gateway still has to check it.
 */
export function ruleText(rule, isOpen) {
  const { min_length, classes } = settings.passwords
  const values = { min_length, classes, max_bytes: MAX_BYTES }
  switch (rule) {
    case 'min_length':
      return t('rule_min_length', values)
    case 'classes':
      return t('rule_classes', values)
    case 'common':
      return t(isOpen ? 'rule_common_open' : 'rule_common')
    case 'max_bytes':
      return t('rule_max_bytes', values)
    case 'characters':
      return t('rule_characters')
    case 'username':
      return t('rule_username')
    case 'same':
      return t('rule_same')
    case 'repeated':
      return t('rule_repeated')
    default:
      return rule
  }
}
