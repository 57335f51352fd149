/** Codes of Node for certificates that are not accepted. */
const NOT_TRUSTED = /^(?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT)/

const codeOf = (fault: unknown): string => String((fault as { code?: unknown }).code)

/** What later versions of Node add for those who run a program of their own. */
const ADVICE_OF_NODE = /; if the root CA is installed locally, .*$/s

/** What stands at the end if a certificate has no names of the wanted kind. */
const EMPTY_LIST = /[: ]+$/

/** Why the certificate of the other side is not accepted; `null` for any other fault. */
export function trustFault(fault: unknown): string | null {
  if (!NOT_TRUSTED.test(codeOf(fault))) return null
  return (fault as Error).message.replace(ADVICE_OF_NODE, '').replace(EMPTY_LIST, '')
}

/** What OpenSSL says in a failed handshake, without the place in its source; `null` for any other fault. */
export function handshakeFault(fault: unknown): string | null {
  const { reason } = fault as { reason?: unknown }
  return codeOf(fault).startsWith('ERR_SSL_') && typeof reason === 'string' ? reason : null
}
