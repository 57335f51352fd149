import { within } from '../base/deadline.ts'
import { createLog } from '../base/log/log.ts'
import { createGateway } from '../gateway/gateway.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { readCertificate } from '../settings/tls.ts'
import { watchCertificate } from './certificate-watch.ts'
import { endLimit, hanging, IDLE_GRACE, REQUESTS_CUT_OFF } from './orders.ts'
import { ReloadError, type Running } from './running-gateway.ts'
import { explainListening } from './try-addresses.ts'

/** A gateway in this process alone: `workers: 1`. */
export async function startAlone(settings: Settings): Promise<Running> {
  const log = createLog(settings.log.level)
  const { tls } = settings.listen
  const certificate = tls === undefined ? null : readCertificate(tls)
  const gateway = await createGateway(settings, { certificate })
  const urls = await gateway.listen().catch(async (fault: unknown) => {
    await gateway.close()
    throw explainListening(fault, settings)
  })
  const watch =
    tls === undefined || certificate === null
      ? null
      : watchCertificate(tls, certificate, log, async renewed => gateway.renewCertificate(renewed))

  return {
    urls,
    async reload() {
      throw new ReloadError('with workers: 1 there is no other process that could take over; restart the gateway')
    },
    async close() {
      watch?.close()
      const { drain } = settings
      const closed = gateway.close({ grace: IDLE_GRACE, drain }).then(inTime => (inTime ? null : REQUESTS_CUT_OFF))
      return within<string | null>(endLimit(drain), closed, () => hanging(drain))
    },
    kill() {},
  }
}
