/** A target of no listener: every gate refuses it. */
const NO_PATH = '*'

/**
 * The target of a request in a form that the router can read. What it cannot read it would answer ahead of every hook: nothing would
 * log or count the request, or send its id. Each percent sign of a path with an escape that is no text is escaped here, and every gate
 * refuses the result as well.
 */
export function routableFormOf(target: string): string {
  const isText = !target.includes('%') || isDecodable(target.split(/[?#]/, 1)[0]!)
  if (!target.startsWith('/')) return isText && isAbsolute(target) ? target : NO_PATH
  return isText ? target : target.replaceAll('%', '%25')
}

/** Whether it is an absolute form as the router reads it, with an authority and without a fragment. */
const isAbsolute = (target: string): boolean =>
  /^https?:\/\/[^/?]/i.test(target) && !target.includes('#') && URL.canParse(target)

function isDecodable(path: string): boolean {
  try {
    decodeURI(path)
    return true
  } catch {
    return false
  }
}
