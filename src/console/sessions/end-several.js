import { CallError } from '../api.js'
import { confirm, openDialog } from '../elements/dialogs.js'
import { h, notify } from '../elements/dom.js'
import { count } from '../language/format.js'
import { faultText, t } from '../language/language.js'
import { session } from '../session.js'

/**
 * @typedef {object} Target What is ended with one request.
 * @property {string} name
 * @property {boolean} isOwn Whether the session of this page ends with it.
 * @property {() => Promise<unknown>} end
 */

/** The names that the confirmation shows; of more it shows the number. */
const NAMED = 10

/**
 * Ends several sessions, or every session of several users, after one confirmation.
 *
 * @param {{ title: string, targets: Target[], done: () => void }} options
 */
export function confirmEndSeveral({ title, targets, done }) {
  const names = targets.slice(0, NAMED).map(({ name }) => name)
  const more = targets.length - names.length
  confirm({
    title,
    details: [
      names.join(', ') + (more > 0 ? t('and_more', { n: count(more) }) : ''),
      t('end_several_detail'),
      ...(targets.some(({ isOwn }) => isOwn) ? [t('end_own_detail')] : []),
    ],
    action: t('end_several', { n: count(targets.length) }),
    busy: t('ending'),
    async run() {
      const failed = await endEach(targets)
      if (session.handle === null) return
      done()
      const ended = targets.length - failed.length
      if (failed.length === 0) notify(t('ended_several', { n: count(ended) }))
      else return () => openFailures(failed, ended)
    },
  })
}

/**
 * Ends one after the other, the session of this page at last: after it, nothing else can be ended.
 *
 * @param {Target[]} targets
 * @returns {Promise<{ name: string, text: string }[]>} Those without confirmation by the gateway that they have ended.
 */
async function endEach(targets) {
  /** @type {{ name: string, text: string }[]} */
  const failed = []
  /** @type {string | null} */
  let broken = null
  for (const { name, end } of targets.toSorted((a, b) => Number(a.isOwn) - Number(b.isOwn))) {
    try {
      if (broken === null) await end()
      else failed.push({ name, text: broken })
    } catch (problem) {
      const text = faultText(problem)
      failed.push({ name, text })
      // What the gateway cannot do for one, it cannot do for the next: they would wait, each for the same time.
      const concernsAll = problem instanceof CallError && [0, 401, 403, 503].includes(problem.code)
      if (concernsAll) broken = text
    }
  }
  return failed
}

/**
 * @param {{ name: string, text: string }[]} failed
 * @param {number} ended
 */
function openFailures(failed, ended) {
  openDialog({
    title: t('not_all_ended'),
    body: [
      h('p', {}, t('ended_of', { n: count(ended), all: count(ended + failed.length) })),
      h('p', {}, t('unconfirmed', { n: count(failed.length) })),
      h(
        'div',
        { role: 'alert' },
        h(
          'ul',
          { class: 'failures' },
          failed.map(({ name, text }) => h('li', {}, `${name}: ${text}`)),
        ),
      ),
    ],
  })
}
