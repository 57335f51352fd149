import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { UpstreamTlsFiles } from '../schema/upstreams.ts'
import { readPem, tryPem } from './pem.ts'

/** How targets that speak HTTPS are verified, and what they see of the gateway; PEM texts. */
export interface UpstreamTls {
  /** The authorities to believe instead of those of the system. */
  ca?: string
  serverName?: string
  cert?: string
  key?: string
}

/** Reads the files of an upstream's `tls`. Throws `ConfigurationError` when one cannot be read or two do not fit. */
export function readUpstreamTls({ ca, cert, key, server_name }: UpstreamTlsFiles): UpstreamTls {
  const tls: UpstreamTls = server_name === undefined ? {} : { serverName: server_name }
  if (ca !== undefined) tls.ca = readCertificates(ca, 'tls.ca')
  if (cert === undefined || key === undefined) return tls
  const pair = { cert: readCertificates(cert, 'tls.cert'), key: readPem(key, 'tls.key') }
  tryPem(key, 'holds no private key in PEM form without a passphrase', () => createSecureContext({ key: pair.key }))
  tryPem(key, `is not the key of the certificate in ${cert}`, () => createSecureContext(pair))
  return { ...tls, ...pair }
}

function readCertificates(file: string, setting: string): string {
  const text = readPem(file, setting)
  tryPem(file, 'holds no certificate in PEM form', () => new X509Certificate(text))
  return text
}
