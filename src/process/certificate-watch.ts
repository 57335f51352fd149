import { type Clock, systemClock } from '../base/clock.ts'
import { fileState } from '../base/file-state.ts'
import type { Logger } from '../base/log/log.ts'
import { ConfigurationError } from '../settings/notation/fault.ts'
import { type Certificate, type CertificateFiles, endOf, readCertificate, withNewTicketKeys } from '../settings/tls.ts'
import { SettledState } from './settled-state.ts'

/** How often the files are checked, in milliseconds. */
const INTERVAL = 1000

/**
 * How long one key encrypts session tickets, in milliseconds: an attacker who gets it later can decrypt the sessions that were
 * resumed with it. A client whose ticket has another key makes a full handshake.
 */
export const TICKET_KEY_LIFETIME = 3_600_000

/** Watches the files of a certificate. */
export interface CertificateWatch {
  close(): void
}

/**
 * Publishes the certificate whenever its files have changed. The files are polled, not watched, because mounted secrets
 * are replaced by swapping links above them. Two polls must find the same state, so that both files are complete. Files
 * that do not match each other are logged once, and the previous certificate stays. `current` is the certificate in
 * use: the files may have changed since it was read. The same certificate is published with another key of session tickets
 * once an hour. `renew` resolves when the certificate is in use.
 */
export function watchCertificate(
  files: CertificateFiles,
  current: Certificate,
  log: Logger,
  renew: (certificate: Certificate) => Promise<void>,
  clock: Clock = systemClock,
): CertificateWatch {
  let inUse = current
  let keyedAt = clock.elapsed()
  const state = new SettledState()
  const use = (certificate: Certificate): Promise<void> => {
    inUse = certificate
    keyedAt = clock.elapsed()
    return renew(certificate)
  }
  const look = (): void => {
    if (clock.elapsed() - keyedAt >= TICKET_KEY_LIFETIME) void use(withNewTicketKeys(inUse))
    if (!state.accept(`${fileState(files.cert)} ${fileState(files.key)}`)) return
    try {
      const certificate = readCertificate(files)
      if (certificate.cert === inUse.cert && certificate.key === inUse.key) return
      const valid_to = new Date(endOf(certificate)).toISOString()
      void use(certificate).then(() => log.info({ valid_to }, 'the certificate was renewed'))
    } catch (fault) {
      if (!(fault instanceof ConfigurationError)) throw fault
      log.error({ faults: fault.faults }, 'the certificate was not renewed; the previous one stays in use')
    }
  }
  const timer = setInterval(look, INTERVAL).unref()
  return { close: () => clearInterval(timer) }
}
