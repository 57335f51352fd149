import { copyButton } from '../account/recovery-codes.js'
import { settings, urlOf } from '../api.js'
import { h } from '../elements/dom.js'
import { openShownOnce, shownOnce } from '../elements/shown-once.js'
import { t } from '../language/language.js'

/** @typedef {{ id: string, key: string, expires_at: string }} Made A new key, as the gateway answers it once. */

/**
 * Shows a new key. It is shown once, so only a confirmation closes the dialog.
 *
 * @param {object} options
 * @param {string} options.title
 * @param {Made} options.made
 * @param {string} options.user The name of its owner.
 * @param {string[] | null} options.paths Those that it reaches.
 * @param {Node} [options.note] What else belongs to it.
 */
export function openNewKey({ title, made: { key, expires_at }, user, paths, note }) {
  const reached = paths?.find(isPlain)
  const url = reached === undefined ? `${urlOf(settings.api)}/…` : urlOf(reached)
  const command = `curl -H "${settings.token_name}: Bearer ${key}" ${url}`
  openShownOnce(title, done =>
    shownOnce({
      body: [
        h('p', {}, t('key_once', { user })),
        h('p', { class: 'secret' }, h('code', {}, key)),
        h('p', { class: 'buttons' }, copyButton(key)),
        h('p', {}, t('key_valid_until', { time: expires_at })),
        note,
        h('p', { class: 'quiet' }, t(reached === undefined ? 'try_key_path' : 'try_key')),
        h('p', { class: 'secret command' }, h('code', {}, command)),
        h('p', { class: 'buttons' }, copyButton(command, 'copy_command')),
      ],
      kept: 'key_kept',
      done,
    }),
  )
}

/**
 * Whether a path has no character that means something to a shell.
 *
 * @param {string} path
 */
const isPlain = path => /^[\w/.~%-]+$/.test(path)
