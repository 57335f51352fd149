import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { foundOn } from '../../../base/asked-socket.ts'
import { trustFault } from '../../../base/tls-faults.ts'
import { hostOf } from '../../../base/url-host.ts'
import { SERVES_NO_TLS, SERVES_TLS } from './fault.ts'
import type { RedisSettings } from './options.ts'

/** A command that Redis answers to everyone; it contains nothing of the settings. */
const PING = 'PING\r\n'
/** What only Redis answers to it: PONG, or a refusal. */
const ANSWER = /^(?:\+PONG|-[A-Z]+ )/

/**
 * Whether a Redis that cannot be reached with TLS answers without it, or the other way round: it says so by silence, or by
 * closing the connection. `null` if it answers in neither way.
 */
export async function transportFault(settings: RedisSettings, timeout: number): Promise<string | null> {
  const places = placesIn(settings)
  const asks = settings.url?.startsWith('rediss:') || settings.tls === true ? answersPlain : answersTls
  const answers = await Promise.all(places.map(place => asks(place, timeout)))
  if (!answers.includes(true)) return null
  return asks === answersPlain ? SERVES_NO_TLS : SERVES_TLS
}

interface Place {
  host: string
  port: number
}

/** Of the servers themselves: Sentinels are asked without TLS, whatever the settings say. */
function placesIn({ url, cluster }: RedisSettings): readonly Place[] {
  if (url === undefined) return cluster ?? []
  const address = new URL(url)
  return [{ host: hostOf(address), port: Number(address.port || 6379) }]
}

const answersPlain = (place: Place, timeout: number): Promise<boolean> => {
  const socket = connect(place)
  return foundOn<boolean>(socket, timeout, false, found => {
    socket.write(PING)
    socket.once('data', text => found(ANSWER.test(String(text))))
  })
}

/** A certificate that is not trusted is one, too. Nothing is sent. */
const answersTls = (place: Place, timeout: number): Promise<boolean> => {
  const socket = connectTls(place)
  return foundOn<boolean>(socket, timeout, false, found => {
    socket.once('secureConnect', () => found(true)).once('error', fault => found(trustFault(fault) !== null))
  })
}
