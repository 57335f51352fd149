/**
 * Has the browser ask its user before a reload, another address or a closed tab loses what an element shows.
 *
 * @param {HTMLElement} element
 */
export function askBeforeLoss(element) {
  const stop = () => window.removeEventListener('beforeunload', ask)
  const ask = (/** @type {BeforeUnloadEvent} */ event) => (element.isConnected ? event.preventDefault() : stop())
  window.addEventListener('beforeunload', ask)
  return stop
}
