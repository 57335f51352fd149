import { h } from '../elements/dom.js'
import { createLoads } from '../elements/loads.js'
import { createTrouble } from '../elements/trouble.js'
import { t } from '../language/language.js'

/**
 * What the signed-in user has of a kind, as it was loaded last, and what is shown until it is there.
 *
 * @template T
 * @param {() => Promise<T[]>} request
 * @param {() => void} draw Called when they are loaded, and when they could not be.
 */
export function createOwnList(request, draw) {
  /** @type {T[] | null} */
  let items = null
  let hasFailed = false
  const begin = createLoads()
  const trouble = createTrouble(() => void load())

  async function load() {
    const isNewest = begin()
    try {
      const loaded = await request()
      if (!isNewest()) return
      items = loaded
      hasFailed = false
      trouble.clear()
    } catch (problem) {
      if (!isNewest()) return
      hasFailed = true
      trouble.report(problem)
    }
    draw()
  }

  return {
    load,
    trouble: trouble.element,
    /** `null` until they are there. */
    items: () => items,
    /** For the place of what is not there: nothing where it could not be loaded. */
    loading: () => !hasFailed && h('p', { class: 'empty quiet' }, t('loading')),
  }
}
