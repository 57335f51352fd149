/*
 * Looks again every few seconds while somebody can see the page. Hidden, it asks nothing, and looks at once when it is
 * seen again.
 */

/** Milliseconds between two looks. */
const INTERVAL = 10_000

/**
 * @param {() => Promise<void>} look
 * @returns {{ readonly isPaused: boolean, pause(paused: boolean): void, stop(): void }}
 */
export function refreshRegularly(look) {
  let isPaused = false
  let isLooking = false
  let timer = 0

  async function again() {
    clearTimeout(timer)
    if (isPaused || document.hidden || isLooking) return
    isLooking = true
    try {
      await look()
    } finally {
      isLooking = false
      schedule()
    }
  }

  function schedule() {
    clearTimeout(timer)
    if (!isPaused && !document.hidden && !isStopped) timer = window.setTimeout(again, INTERVAL)
  }

  let isStopped = false
  document.addEventListener('visibilitychange', again)
  schedule()
  return {
    get isPaused() {
      return isPaused
    },
    pause(paused) {
      isPaused = paused
      if (paused) clearTimeout(timer)
      else void again()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', again)
    },
  }
}
