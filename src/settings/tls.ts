import { randomBytes, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { DAY } from '../base/clock.ts'
import { recordIfFaulty } from './files-read.ts'
import type { Fault } from './notation/fault.ts'
import { readBoth, readPem, tryPem } from './pem.ts'
import type { UpstreamTlsFiles } from './schema/targets.ts'

/** Where the certificate of the public listener is. */
export interface CertificateFiles {
  cert: string
  key: string
}

/** The certificate of the public listener, as PEM texts. */
export interface Certificate {
  cert: string
  key: string
  /**
   * Base64 of 48 random bytes: the key of session tickets. Workers share it, so that a client resumes its TLS session with
   * any of them. It is replaced once an hour, and together with the certificate.
   */
  ticketKeys: string
}

/** Reads a certificate with its key. Throws `ConfigurationError` when a file cannot be read or the two do not fit. */
export function readCertificate({ cert, key }: CertificateFiles): Certificate {
  // A renewed one is loaded without a reload.
  return withNewTicketKeys(recordIfFaulty(() => readPair(cert, key, 'listen.tls')))
}

/** The same certificate: tickets from before are not accepted any more, and their clients make a full handshake. */
export const withNewTicketKeys = ({ cert, key }: Pick<Certificate, 'cert' | 'key'>): Certificate => ({
  cert,
  key,
  ticketKeys: randomBytes(48).toString('base64'),
})

/** The end of a certificate's validity, in milliseconds since 1970. Of a chain the first counts: the gateway's own. */
export const endOf = ({ cert }: Pick<Certificate, 'cert'>): number => Date.parse(new X509Certificate(cert).validTo)

/** How long before its end a certificate is warned of, in milliseconds: those of a few days would else be warned of always. */
function warnedBefore({ cert }: Pick<Certificate, 'cert'>): number {
  const { validFrom, validTo } = new X509Certificate(cert)
  return Math.min(21 * DAY, (Date.parse(validTo) - Date.parse(validFrom)) / 3)
}

/** What an expired certificate means, and how another comes into use. */
const USES = {
  listener: { refusal: 'clients refuse to connect', remedy: 'which are loaded without a restart' },
  upstream: { refusal: 'targets refuse the gateway', remedy: 'then run `dualgate reload`' },
} as const

/** A certificate in use, with its file. */
export interface UsedCertificate {
  use: keyof typeof USES
  cert: string
  file: string
}

/** The certificate of the public listener, where it has one. */
export const ownCertificate = (
  files: CertificateFiles | undefined,
  certificate: Certificate | null,
): UsedCertificate[] =>
  files === undefined || certificate === null ? [] : [{ use: 'listener', cert: certificate.cert, file: files.cert }]

/** The client certificates that upstreams get, each file once. Throws `ConfigurationError` when one cannot be read. */
export function readClientCertificates(
  upstreams: readonly { tls?: UpstreamTlsFiles | undefined }[],
): UsedCertificate[] {
  const files = new Set(upstreams.flatMap(({ tls }) => tls?.cert ?? []))
  return [...files].map(file => ({ use: 'upstream', cert: readCertificates(file, 'tls.cert'), file }))
}

/** Warns of each certificate that has expired or soon will, and says what to do. */
export const warningsOfEnd = (certificates: readonly UsedCertificate[], now: number): Fault[] =>
  certificates.flatMap(certificate => warningOfEnd(certificate, now) ?? [])

function warningOfEnd(certificate: UsedCertificate, now: number): Fault | null {
  const end = endOf(certificate)
  if (end - now > warnedBefore(certificate)) return null
  const date = `${new Date(end).toISOString().slice(0, 16)}Z`
  const { refusal, remedy } = USES[certificate.use]
  const state = end <= now ? `expired at ${date}, and ${refusal}` : `expires at ${date}, in ${daysIn(end - now)}`
  return { place: certificate.file, message: `${state}; replace the certificate and its key, ${remedy}` }
}

/** A time in whole days, rounded down, so that no day is promised that is not there. */
function daysIn(time: number): string {
  const days = Math.floor(time / DAY)
  return days === 0 ? 'less than a day' : `${days} ${days === 1 ? 'day' : 'days'}`
}

/** How HTTPS targets are verified, and the certificate that they get from the gateway; PEM texts. */
export interface UpstreamTls {
  /** The trusted authorities, instead of those of the system. */
  ca?: string
  serverName?: string
  cert?: string
  key?: string
}

/** Reads the files of an upstream's `tls`. Throws `ConfigurationError` when one cannot be read or two do not fit. */
export function readUpstreamTls({ ca, cert, key, server_name }: UpstreamTlsFiles): UpstreamTls {
  return {
    ...(server_name !== undefined && { serverName: server_name }),
    ...(ca !== undefined && { ca: readCertificates(ca, 'tls.ca') }),
    ...(cert !== undefined && key !== undefined && readPair(cert, key, 'tls')),
  }
}

/** A certificate and its key; `section` names the setting that holds both. */
function readPair(cert: string, key: string, section: string): { cert: string; key: string } {
  const [certificate, privateKey] = readBoth(
    () => readCertificates(cert, `${section}.cert`),
    () => readPrivateKey(key, `${section}.key`),
  )
  const pair = { cert: certificate, key: privateKey }
  tryPem(key, `is not the key of the certificate in ${cert}`, () => createSecureContext(pair))
  return pair
}

function readPrivateKey(file: string, setting: string): string {
  const key = readPem(file, setting)
  tryPem(file, 'holds no private key in PEM form without a passphrase', () => createSecureContext({ key }))
  return key
}

/** Certificates as PEM text. Throws `ConfigurationError` when the file cannot be read, or holds none. */
export function readCertificates(file: string, setting: string): string {
  const text = readPem(file, setting)
  tryPem(file, 'holds no certificate in PEM form', () => new X509Certificate(text))
  return text
}
