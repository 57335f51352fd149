/** Codes of Node for certificates that are not accepted. */
const NOT_TRUSTED = /^(?:UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|CERT_|ERR_TLS_CERT)/

const codeOf = (fault: unknown): string => String((fault as { code?: unknown }).code)

/** Whether a connection failed because the certificate of the other side is not accepted. */
export const isNotTrusted = (fault: unknown): boolean => NOT_TRUSTED.test(codeOf(fault))

/** What OpenSSL says in a failed handshake, without the place in its source; `null` for any other fault. */
export function handshakeFault(fault: unknown): string | null {
  const { reason } = fault as { reason?: unknown }
  return codeOf(fault).startsWith('ERR_SSL_') && typeof reason === 'string' ? reason : null
}
