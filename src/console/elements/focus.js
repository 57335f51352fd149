/*
 * Where the focus goes when what has it is replaced, hidden or removed. Without it, a keyboard begins at the top of the page again, and a
 * screen reader says nothing.
 */

/**
 * Remembers what has the focus.
 *
 * @returns {() => void} Gives the focus back, if it is lost: to the same element, to the one that has taken its place, or else to
 *   what is left around it.
 */
export function rememberFocus() {
  const focused = document.activeElement
  const name = nameOf(focused)
  const around = aroundOf(focused)
  return () => {
    if (focused === null || document.activeElement !== document.body) return
    const left = around.filter(({ isConnected }) => isConnected)
    const same = focused.isConnected ? focused : [...(left[0]?.querySelectorAll('[data-key], [id]') ?? [])].find(isSame)
    if (same instanceof HTMLElement && focus(same)) return
    // What surrounds all of a page is as good as nothing.
    left.filter(({ id }) => id !== 'app').some(focusPlace)
  }

  /** @param {Element} element */
  function isSame(element) {
    return name !== null && nameOf(element) === name
  }
}

/**
 * The name by which an element that is drawn again is found.
 *
 * @param {Element | null} element
 */
const nameOf = element => element?.getAttribute('data-key') ?? element?.getAttribute('id') ?? null

/**
 * What surrounds an element, from the inside out.
 *
 * @param {Element | null} element
 * @returns {HTMLElement[]}
 */
function aroundOf(element) {
  const parent = element?.parentElement ?? null
  return parent === null || parent === document.body ? [] : [parent, ...aroundOf(parent)]
}

/**
 * @param {HTMLElement} element
 * @returns {boolean} Whether it could be focused.
 */
function focus(element) {
  element.focus({ preventScroll: true })
  return document.activeElement === element
}

/**
 * Focuses what is no control, and takes no focus of a click later.
 *
 * @param {HTMLElement} place
 */
function focusPlace(place) {
  const isControl = place.hasAttribute('tabindex')
  if (!isControl) place.tabIndex = -1
  const isFocused = focus(place)
  const restore = () => !isControl && place.removeAttribute('tabindex')
  if (isFocused) place.addEventListener('blur', restore, { once: true })
  else restore()
  return isFocused
}
