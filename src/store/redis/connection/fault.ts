const KINDS = [
  'ERR DB index is out of range',
  '[A-Z]{2,}\\b',
  '(?:connect|getaddrinfo|read|write) \\w+',
  'Command timed out',
  'Connection is closed',
  "Stream isn't writeable",
  'no answer in time',
  'Failed to refresh slots cache',
  'None of startup nodes is available',
]
/** At the beginning of a message, or behind what Sentinels are blamed for. */
const KIND = new RegExp(`^(?:All sentinels are unreachable\\b.*?: )?(${KINDS.join('|')})`)

/** The loggable part of an error: its kind. The rest can contain the command, and with it a token. */
export function summaryOf(error: unknown): string {
  const { message = '', name = 'Error', lastNodeError } = error as Partial<Error> & { lastNodeError?: unknown }
  // Of a Cluster: why the node that was asked last did not answer.
  if (lastNodeError !== undefined && lastNodeError !== null) return summaryOf(lastNodeError)
  return KIND.exec(message)?.[1] ?? name
}

/** What to do about a fault of a connection or a command, by its kind. */
const REMEDIES: readonly (readonly [kind: RegExp, remedy: string])[] = [
  [/^ERR DB index/, 'it has no database of this number; correct the address, or its setting databases'],
  [/ECONNREFUSED/, 'no program listens there; start Redis, or correct the address'],
  [/ENOTFOUND|EAI_AGAIN/, 'the name is not known; correct the address'],
  [/^(WRONGPASS|NOAUTH|ERR)/, 'it refuses this user or password; correct them'],
  [/^NOPERM/, 'this user may not read the keys below store.prefix; allow it ~<prefix>:* in the ACL'],
  [/^(LOADING|BUSY|no answer in time)/, 'it is busy, or stopped; find out what keeps it from answering'],
]

export const remedyOf = (fault: string): string =>
  REMEDIES.find(([kind]) => kind.test(fault))?.[1] ??
  'is it a Redis, does it need TLS (rediss://), and does a firewall stand between?'
