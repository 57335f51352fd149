import { isIP } from 'node:net'
import type { DecodedSettings } from '../../schema/settings.ts'
import { isLoopback, isUnencrypted } from '../networks.ts'
import { indexesOf, type Rule, UNENCRYPTED_PAGE } from './rule.ts'

/** Who reaches the listeners and the backends. */
export const EXPOSURE: readonly Rule<DecodedSettings>[] = [
  {
    setting: ['trusted_proxies'],
    finds: ({ listen, trusted_proxies }, isProduction) =>
      isProduction && listen.tls === undefined && trusted_proxies.length === 0 && !isLoopback(listen.host),
    message:
      'is empty, and there is no listen.tls: behind a proxy all clients share one address and its limits, and without a ' +
      'proxy tokens are sent unencrypted; name the proxy here, or set listen.tls',
  },
  {
    setting: ['trusted_proxies'],
    finds: ({ trusted_proxies }) => indexesOf(trusted_proxies, isTooWide),
    message: 'covers a large part of the internet: clients there choose their own address; name your proxies only',
  },
  {
    setting: ['listen', 'min_rate'],
    finds: ({ listen: { min_rate } }) => min_rate === 'off' || min_rate < 128,
    message: 'is too low to end slow requests: a few clients can hold every connection of an upstream',
  },
  {
    setting: ['internal', 'host'],
    finds: ({ internal }) => internal.socket === undefined && !isLoopback(internal.host),
    message: 'can be reached from other machines: allow only your own services and the monitoring to connect',
  },
  {
    setting: ['gate', 'exceptions'],
    finds: ({ gate: { exceptions } }) =>
      indexesOf(exceptions, ({ path, needs }) => needs === 'none' && /^\/api\/v\d+\/\*$/.test(path)),
    message: 'opens every path of your backends to every client; name the paths',
  },
  {
    setting: ['gate', 'exceptions'],
    finds: ({ gate: { exceptions } }) =>
      indexesOf(exceptions, ({ methods, needs }) => needs === 'none' && methods.some(method => method !== 'GET')),
    message: 'lets every client change data without a session; let it need a session, or leave it to GET',
  },
  {
    setting: ['browser', 'secure'],
    finds: ({ browser }) => (browser.business || browser.consumer) && !browser.secure,
    message: 'is off: browsers send the cookie unencrypted, and who reads the traffic has the session; use HTTPS',
  },
  {
    setting: ['browser', 'origins'],
    finds: ({ browser }) => indexesOf(browser.origins, origin => isUnencrypted(origin, 'http:')),
    message: UNENCRYPTED_PAGE,
  },
  {
    setting: ['cors', 'origin'],
    finds: ({ cors }) => (cors === 'off' ? false : indexesOf(cors.origin, origin => isUnencrypted(origin, 'http:'))),
    message: UNENCRYPTED_PAGE,
  },
]

/** Ranges with more addresses than any operator has: shorter than /8 of IPv4, or /16 of IPv6. */
function isTooWide(range: string): boolean {
  const [address = '', bits] = range.split('/')
  return bits !== undefined && Number(bits) < (isIP(address) === 4 ? 8 : 16)
}
