import { currentAddress } from '../address.js'
import { download } from '../api.js'
import { h, notify } from '../elements/dom.js'
import { onceAtATime } from '../elements/forms.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'

/** Entries in a file at most: as many as the gateway answers at once. */
const SIZE = 100_000
/** Milliseconds after which the page releases the memory of a saved file. */
const RELEASE = 60_000

/** The button that saves the entries of the present filter as a file. */
export const exportButton = () =>
  h('button', { type: 'button', class: 'small', 'data-key': 'export', onclick: onceAtATime(save) }, t('export_csv'))

async function save() {
  const file = await download('sys/journal/export', { ...currentAddress().query, size: SIZE })
  const entries = entriesIn(await file.text())
  saveFile(file)
  notify(t(entries < SIZE ? 'exported' : 'exported_newest', { n: count(entries) }))
}

/** @param {Blob} file */
function saveFile(file) {
  const url = URL.createObjectURL(file)
  h('a', { href: url, download: 'journal.csv' }).click()
  // Not at once: browsers begin to save it later.
  setTimeout(() => URL.revokeObjectURL(url), RELEASE)
}

/**
 * The lines of a CSV file, without the one that names its columns. Quoted values may contain line breaks.
 *
 * @param {string} text
 */
const entriesIn = text =>
  text
    .split('"')
    .filter((_, at) => at % 2 === 0)
    .join('')
    .split('\r\n').length - 2
