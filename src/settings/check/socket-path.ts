/** What the address of a Unix socket has room for (`sun_path`), in bytes. Node 20 cuts a longer path off. */
const LONGEST = process.platform === 'linux' ? 107 : 103

/** What is wrong with the path of a Unix socket; `null` if nothing is. */
export const faultOfSocket = (path: string): string | null =>
  Buffer.byteLength(path) <= LONGEST
    ? null
    : `leads to a path of ${Buffer.byteLength(path)} bytes, and a socket can have ${LONGEST}; choose a shorter one`
