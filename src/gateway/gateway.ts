import type { Settings } from '../settings/schema/settings.ts'
import { bindBusiness, releaseBusiness } from '../side/current-gateway.ts'
import { openSessions } from './core.ts'
import { openForwarding } from './forwarding.ts'
import type { Gateway, GatewayOptions } from './gateway-options.ts'
import { openListeners } from './listeners.ts'
import { prepare } from './setup.ts'

export type { Gateway, GatewayOptions }

/** Makes a gateway of its parts. Each part is made with those before it, and closed before them. */
export async function createGateway(settings: Settings, options: GatewayOptions = {}): Promise<Gateway> {
  const setup = prepare(settings, options)
  const sessions = await openSessions(setup)
  const forwarding = await openForwarding(setup, sessions)
  const listeners = await openListeners(setup, sessions, forwarding)
  bindBusiness(sessions.operations.business)
  return {
    sides: sessions.operations,
    reachStore: limit => sessions.reachStore(limit),
    async listen() {
      // Before checks of targets begin: nothing would end them.
      listeners.refuseClosed()
      await forwarding.start()
      return listeners.open()
    },
    renewCertificate: listeners.renewCertificate,
    metrics: () => setup.meter.snapshot(),
    async close(closing = {}) {
      releaseBusiness(sessions.operations.business)
      const inTime = await listeners.close(closing)
      await forwarding.close()
      await sessions.close()
      return inTime
    },
  }
}
