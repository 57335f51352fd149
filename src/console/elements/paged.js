import { show } from './dom.js'
import { createLoads } from './loads.js'
import { createTrouble } from './trouble.js'

/**
 * What the gateway answers page by page.
 *
 * @template {import('./paging.js').Position} Q
 * @template {{ records: readonly unknown[], pages: number }} P
 * @param {object} options
 * @param {Q} options.query What is requested at first. A request changes it.
 * @param {(query: Q) => Promise<P>} options.load
 * @param {() => void} options.loaded Called when another page is there.
 * @param {Element} options.list Where it is shown; empty while nothing could be loaded.
 */
export function createPaged({ query, load, loaded, list }) {
  /** @type {P | null} */
  let page = null
  const begin = createLoads()
  const trouble = createTrouble(() => void reload())

  /** @param {Partial<Q>} change */
  function request(change) {
    Object.assign(query, change)
    void reload()
  }

  async function reload() {
    const isNewest = begin()
    try {
      const answer = await load(query)
      if (!isNewest()) return
      trouble.clear()
      if (answer.records.length === 0 && query.current > 1)
        return request(/** @type {Partial<Q>} */ ({ current: Math.max(1, answer.pages) }))
      page = answer
      loaded()
    } catch (problem) {
      if (!isNewest()) return
      if (page === null) show(list)
      trouble.report(problem)
    }
  }

  return {
    trouble: trouble.element,
    request,
    reload,
    /** The shown page; `null` until it is loaded. */
    page: () => page,
    /**
     * Requests something of which no page is shown yet.
     *
     * @param {Partial<Q>} change
     */
    begin(change) {
      page = null
      request({ ...change, current: 1 })
    },
  }
}
