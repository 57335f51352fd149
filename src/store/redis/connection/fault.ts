import { handshakeFault, trustFault } from '../../../base/tls-faults.ts'

const KINDS = [
  'ERR DB index is out of range',
  'ERR No such master with that name',
  'ERR This instance has cluster support disabled',
  '[A-Z]{2,}\\b',
  '(?:connect|getaddrinfo|read|write) \\w+',
  'Command timed out',
  'timeout',
  'Client network socket disconnected before secure TLS connection was established',
  'Connection is closed',
  "Stream isn't writeable",
  'no answer in time',
  'Failed to refresh slots cache',
  'None of startup nodes is available',
]
const KIND = new RegExp(`^(?:${KINDS.join('|')})`)
/** Stands before what the last of the Sentinels answered. */
const BY_SENTINELS = /^All sentinels are unreachable\b.*?: /
const SENTINELS = 'the Sentinels: '

const UNTRUSTED = 'its certificate is not trusted'

/** What a question at its port has shown of a Redis that could not be reached. */
export const SERVES_TLS = 'it serves TLS'
export const SERVES_NO_TLS = 'it answers without TLS'

/** The loggable part of an error: its kind. The rest can contain the command, and with it a token. */
export function summaryOf(error: unknown): string {
  const { message = '', name = 'Error', lastNodeError } = error as Partial<Error> & { lastNodeError?: unknown }
  // Of a Cluster: why the node that was asked last did not answer.
  if (lastNodeError !== undefined && lastNodeError !== null) return summaryOf(lastNodeError)
  const distrust = trustFault(error)
  if (distrust !== null) return `${UNTRUSTED}: ${distrust}`
  const handshake = handshakeFault(error)
  if (handshake !== null) return `TLS fails: ${handshake}`
  const text = message.replace(BY_SENTINELS, '')
  return `${text === message ? '' : SENTINELS}${lackIn(text) ?? KIND.exec(text)?.[0] ?? name}`
}

/** What Redis refuses by its ACL, or does not have, in the texts of all versions, alone and in a script. Names of commands are no secrets. */
const LACKS: readonly (readonly [text: RegExp, lack: string])[] = [
  [/^NOPERM .* run the '([\w|-]+)' command/, 'NOPERM for the command'],
  [/^ERR ACL failure in script: .* run the '([\w|-]+)' command/, 'NOPERM for the command'],
  [/^ERR .*\bexecuting the script can't run this command/, 'NOPERM for a command of a script'],
  [/^NOPERM .* channels?\b/, 'NOPERM for a channel'],
  [/^NOPERM .* keys?\b/, 'NOPERM for a key'],
  [/^ERR (?:ACL failure in script: .*access a key|.*\bexecuting the script can't access)/, 'NOPERM for a key'],
  [/^ERR unknown command [`']([\w|-]+)['`]/, 'ERR unknown command'],
  [/^ERR .*Unknown Redis command called from/i, 'ERR unknown command of a script'],
]

function lackIn(message: string): string | null {
  for (const [text, lack] of LACKS) {
    const found = text.exec(message)
    if (found !== null) return found[1] === undefined ? lack : `${lack} ${found[1]}`
  }
  return null
}

/** What to do about a fault of a connection or a command, by its kind. */
const REMEDIES: readonly (readonly [kind: RegExp, remedy: string])[] = [
  [/^the Sentinels: ERR No such master/, 'they watch no master of this name; correct store.redis.name'],
  [/^the Sentinels: ERR unknown command/, 'these are no Sentinels; correct their addresses in store.redis.sentinels'],
  [
    /^the Sentinels: (WRONGPASS|NOAUTH)/,
    'the gateway sends Sentinels no password: let them answer without one, or correct their addresses',
  ],
  [
    /^the Sentinels: Connection is closed/,
    'none accepts a connection without TLS; start one, or correct the addresses',
  ],
  [/^ERR This instance has cluster/, 'it is a single server, and no Cluster; name it in store.redis.url'],
  [/^ERR unknown command get$/i, 'it may be a Sentinel; name the Sentinels in store.redis.sentinels'],
  [/^ERR DB index/, 'it has no database of this number; correct the address, or its setting databases'],
  [/ECONNREFUSED/, 'no program listens there; start Redis, or correct the address'],
  [/ENOTFOUND|EAI_AGAIN/, 'the name is not known; correct the address'],
  [/^NOPERM for (the|a) command/, 'this user may not use a command that the gateway needs; allow it in the ACL'],
  [
    /^NOPERM for a channel/,
    'this user may not receive what Redis announces; allow it &__redis__:invalidate in the ACL',
  ],
  [
    /^ERR unknown command/,
    'it does not have a command that the gateway needs; use Redis 6.2 or newer, and rename no command',
  ],
  [/^(WRONGPASS|NOAUTH|ERR)/, 'it refuses this user or password; correct them'],
  [/^NOPERM/, 'this user may not read the keys below store.prefix; allow it ~<prefix>:* in the ACL'],
  [/^LOADING/, 'it reads its data after a start; wait until it has'],
  [/^(BUSY|no answer in time)/, 'it is busy, or stopped; find out what keeps it from answering'],
  [
    new RegExp(`^${UNTRUSTED}`),
    'name the file of its authority in the variable NODE_EXTRA_CA_CERTS, or correct the address or the certificate',
  ],
  [/^(MOVED|CROSSSLOT)/, 'it is a node of a Cluster; name it in store.redis.cluster'],
  [
    new RegExp(`^${SERVES_TLS}`),
    'begin store.redis.url with rediss://, or for Sentinel and Cluster set store.redis.tls',
  ],
  [
    new RegExp(`^${SERVES_NO_TLS}`),
    'begin store.redis.url with redis://, or for Sentinel and Cluster remove store.redis.tls; or let it serve TLS',
  ],
]

const knownRemedyOf = (fault: string): string | undefined => REMEDIES.find(([kind]) => kind.test(fault))?.[1]

/** Whether the kind alone says what to do. */
export const isClear = (fault: string): boolean => knownRemedyOf(fault) !== undefined

export const remedyOf = (fault: string): string =>
  knownRemedyOf(fault) ??
  'is it a Redis, does it serve TLS if and only if rediss:// or tls says so, and does a firewall stand between?'
