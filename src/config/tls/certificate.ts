import { randomBytes, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { readPem, tryPem } from './pem.ts'

/** Where the certificate of the public listener is. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** What the public listener proves itself with, as PEM texts. */
export interface Certificate {
  cert: string
  key: string
  /**
   * Base64 of 48 random bytes: the key of session tickets. Workers share it, so that a client resumes its TLS session with
   * whichever it meets; it ends with the certificate.
   */
  ticketKeys: string
}

/** Reads a certificate with its key. Throws `ConfigurationError` when a file cannot be read or the two do not fit. */
export function readCertificate({ cert, key }: CertificateFiles): Certificate {
  const texts = { cert: readPem(cert, 'listen.tls.cert'), key: readPem(key, 'listen.tls.key') }
  tryPem(cert, 'holds no certificate in PEM form', () => new X509Certificate(texts.cert))
  tryPem(key, 'holds no private key in PEM form without a passphrase', () => createSecureContext({ key: texts.key }))
  tryPem(key, `is not the key of the certificate in ${cert}`, () => createSecureContext(texts))
  return { ...texts, ticketKeys: randomBytes(48).toString('base64') }
}

/** The last moment at which a certificate is valid, as it says itself. */
export const endOf = ({ cert }: Certificate): string => new X509Certificate(cert).validTo
