import type { Fault } from '../settings/notation/fault.ts'

/** The first major version of Node's parser of HTTP that is strict about the end of a head. */
const STRICT = 9

/**
 * What to warn of where a version of Node serves requests: its parser may accept what other parsers read otherwise, and no code behind a
 * parser sees that.
 */
export function faultsOfNode({ node, llhttp = '' }: { node: string; llhttp?: string | undefined }): Fault[] {
  if (Number.parseInt(llhttp, 10) >= STRICT) return []
  const message = 'accepts requests that other servers read otherwise (CVE-2025-23167); update it to 20.19.2 or newer'
  return [{ place: `Node ${node}`, message }]
}
