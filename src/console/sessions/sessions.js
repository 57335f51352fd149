import { h, show } from '../elements/dom.js'
import { createLoads } from '../elements/loads.js'
import { sideButtons } from '../elements/sides.js'
import { createTrouble } from '../elements/trouble.js'
import { now } from '../language/clock.js'
import { t } from '../language/language.js'
import { createOverview } from './overview.js'
import { refreshRegularly } from './refresh.js'
import { createUsers } from './users.js'

/** The endpoints of each side, below `/api/v<n>/`. */
const SIDES = { BUSINESS: 'sys/session', CONSUMER: 'client/session' }

/** @typedef {import('../elements/sides.js').SideName} SideName */

/** @param {import('../address.js').Address} address */
const sideOf = ({ name }) => (name === 'consumer' ? 'CONSUMER' : 'BUSINESS')

/**
 * The page of sessions: who is online on each side.
 *
 * @param {HTMLElement} place
 * @param {import('../address.js').Address} address
 * @returns {import('../pages.js').Page}
 */
export function createSessions(place, address) {
  /** @type {SideName} */
  let side = sideOf(address)
  /** When this side was loaded last: `null` until something has arrived, and empty when nothing could be loaded. */
  let updated = /** @type {string | null} */ (null)
  const begin = createLoads()
  const bar = h('div', { class: 'bar' })
  const trouble = createTrouble(() => void load())
  const numbers = h('div', {})
  const people = h('div', {})
  const overview = createOverview(numbers)
  const users = createUsers(people, { changed: () => void load() })
  const refresh = refreshRegularly(load)

  async function load() {
    const isNewest = begin()
    try {
      await Promise.all([overview.load(SIDES[side], isNewest), users.load(isNewest)])
      if (!isNewest()) return
      updated = now()
      trouble.clear()
    } catch (problem) {
      if (!isNewest()) return
      updated ??= ''
      trouble.report(problem)
    }
    drawBar()
  }

  function drawBar() {
    const sides = sideButtons(side, [
      ['BUSINESS', 'sessions'],
      ['CONSUMER', 'consumer'],
    ])
    show(bar, sides, ...refreshState(refresh, updated, drawBar))
  }

  users.showSide(SIDES[side])
  void load()
  return {
    draw() {
      drawBar()
      overview.draw()
      users.draw()
      show(place, bar, trouble.element, numbers, people)
    },
    turn(next) {
      side = sideOf(next)
      updated = null
      users.showSide(SIDES[side])
      void load()
    },
    leave: refresh.stop,
  }
}

/**
 * When the data was loaded, and the button that stops its refresh.
 *
 * @param {ReturnType<typeof refreshRegularly>} refresh
 * @param {string | null} updated
 * @param {() => void} changed
 */
function refreshState(refresh, updated, changed) {
  const isPaused = refresh.isPaused
  const onclick = () => {
    refresh.pause(!isPaused)
    changed()
  }
  return [
    h('span', { class: 'refresh quiet' }, isPaused ? t('paused') : updatedText(updated)),
    h('button', { type: 'button', class: 'small', 'data-key': 'pause', onclick }, t(isPaused ? 'resume' : 'pause')),
  ]
}

/** @param {string | null} time */
const updatedText = time => (time === null ? t('loading') : time !== '' && t('updated', { time }))
