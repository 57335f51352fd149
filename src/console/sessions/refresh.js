/*
 * Loads the data again every few seconds while the page is visible. A hidden page sends no requests, and loads at once when
 * it becomes visible again.
 */

/** Milliseconds between two loads. */
const INTERVAL = 10_000

/**
 * @param {() => Promise<void>} load
 * @returns {{ readonly isPaused: boolean, pause(paused: boolean): void, stop(): void }}
 */
export function refreshRegularly(load) {
  let isPaused = false
  let isLoading = false
  let timer = 0

  async function run() {
    clearTimeout(timer)
    if (isPaused || document.hidden || isLoading) return
    isLoading = true
    try {
      await load()
    } finally {
      isLoading = false
      schedule()
    }
  }

  function schedule() {
    clearTimeout(timer)
    if (!isPaused && !document.hidden && !isStopped) timer = window.setTimeout(run, INTERVAL)
  }

  let isStopped = false
  document.addEventListener('visibilitychange', run)
  schedule()
  return {
    get isPaused() {
      return isPaused
    },
    pause(paused) {
      isPaused = paused
      if (paused) clearTimeout(timer)
      else void run()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', run)
    },
  }
}
