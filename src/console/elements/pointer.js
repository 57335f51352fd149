/*
 * A click counts only if the element that was pressed is still there when it is released. So what is loaded without a request of the
 * user is not shown in between.
 */

let isPressed = false
const waiting = /** @type {(() => void)[]} */ ([])

/** @param {PointerEvent} event The list of a choice is above the page, and keeps its release. */
function press({ target }) {
  isPressed = !(target instanceof HTMLSelectElement)
}

function release() {
  isPressed = false
  if (waiting.length === 0) return
  const released = waiting.splice(0)
  // The click comes in the same turn.
  setTimeout(() => {
    for (const show of released) show()
  })
}

document.addEventListener('pointerdown', press, true)
document.addEventListener('pointerup', release, true)
document.addEventListener('pointercancel', release, true)
// Outside of the window, nothing announces a release.
document.addEventListener('pointermove', ({ buttons }) => buttons === 0 && release(), true)

/** @returns {Promise<void>} Resolves when no pointer is pressed: at once, or after the click that its release may be. */
export async function pointerReleased() {
  if (isPressed) await new Promise(resolve => waiting.push(() => resolve(undefined)))
}
