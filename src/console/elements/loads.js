/**
 * The requests for what one place shows. An answer to an earlier one may be older than what the user has done since: only that to
 * the newest counts.
 *
 * @returns {() => () => boolean} Begins a request; the function it returns says whether it is still the newest.
 */
export function createLoads() {
  let newest = 0
  return () => {
    const load = ++newest
    return () => load === newest
  }
}
