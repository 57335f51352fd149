import { randomInt } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import bcrypt from 'bcrypt'
import smCrypto from 'sm-crypto'
import { Client } from 'undici'
import { systemClock } from '../src/base/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts'
import { addPerson, ldapConfig, POLICY, startSlapd, unitOf, withoutSlapd } from '../test/support/slapd.ts'
import { startGateway } from './gateway.ts'
import { onScene, type Scene } from './process.ts'
import { fixed, note, printTable, quantile } from './statistics.ts'

export const TIMES_HELP = `times     whether the time of a failed login reveals why it failed
            --samples 400               logins of each kind, in random order
            --accounts file             or ldap: a directory (slapd) that writes each failure into the entry`

const NAME = 'operator'
const PASSWORD = 'a password of some length'
const BCRYPT_COST = 10

/** A failed login of each kind. The gateway's work differs, and the client must not notice. */
const KINDS: Readonly<Record<string, (key: string) => { username: string; password: string }>> = {
  'wrong password': key => ({ username: NAME, password: encrypt('another password, as long', key) }),
  'unknown user': key => ({ username: 'unknown0', password: encrypt(PASSWORD, key) }),
  undecryptable: key => ({ username: NAME, password: mangled(encrypt(PASSWORD, key)) }),
  'no ciphertext at all': () => ({ username: NAME, password: 'zz' }),
  'a C1 off the curve': key => ({ username: NAME, password: '11'.repeat(64) + encrypt(PASSWORD, key).slice(128) }),
  '73 bytes': key => ({ username: NAME, password: encrypt('x'.repeat(73), key) }),
}

const encrypt = (text: string, key: string): string => smCrypto.sm2.doEncrypt(text, key, 1)

/** The last byte is changed, so C3 does not match. */
const mangled = (hex: string): string => hex.slice(0, -2) + (hex.endsWith('00') ? '01' : '00')

export async function times(words: string[]): Promise<void> {
  const options = {
    samples: { type: 'string', default: '400' },
    accounts: { type: 'string', default: 'file' },
  } as const
  const { values } = parseArgs({ args: words, options })
  const ends: (() => Promise<void>)[] = []
  try {
    await onScene(async scene => {
      const teardown = (end: () => Promise<void>): void => void ends.push(end)
      const accounts = values.accounts === 'ldap' ? await accountsInDirectory({ teardown }) : accountsInFile(scene)
      await compare(scene, Number(values.samples), accounts)
    })
  } finally {
    for (const end of ends) await end()
  }
}

async function compare(scene: Scene, samples: number, accounts: object): Promise<void> {
  const times = await measure(scene, samples, accounts)
  const reference = times.get('wrong password')!
  const rows = [...times].map(([kind, elapsed]) => {
    const sorted = elapsed.toSorted((a, b) => a - b)
    const { p } = mannWhitney(elapsed, reference)
    const quantiles = [0.1, 0.5, 0.9].map(share => fixed(quantile(sorted, share)))
    return [kind, ...quantiles, elapsed === reference ? '–' : fixed(p, 3)]
  })
  console.log(`Failed logins, ${samples} of each kind in random order, milliseconds:\n`)
  printTable(['why it failed', 'p10', 'median', 'p90', 'p'], rows)
  console.log(
    `p: the probability of such a difference to a wrong password if there is no real difference (Mann-Whitney, two-sided;\n` +
      `with ${times.size - 1} comparisons, a value below ${fixed(0.05 / (times.size - 1), 4)} is significant). A shift of ${fixed(detectable(reference))} ms ` +
      `would have been found with a probability of 0.95.\n`,
  )
}

/** One account, in a file. */
function accountsInFile(scene: Scene): object {
  const path = join(scene.folder, 'accounts.yaml')
  const password = bcrypt.hashSync(PASSWORD, BCRYPT_COST)
  const account = { id: '1', username: NAME, password, nickname: NAME, status: 'ACTIVE', roles: [], permissions: [] }
  writeFileSync(path, JSON.stringify({ accounts: [account] }), { mode: 0o600 })
  return { kind: 'file', path }
}

/** One account, in a directory that counts failures and never locks. */
async function accountsInDirectory(t: { teardown(end: () => Promise<void>): void }): Promise<object> {
  if (withoutSlapd !== false) throw new Error(withoutSlapd)
  const slapd = await startSlapd(t, { isDurable: true })
  await slapd.modify(POLICY, { pwdMaxFailure: '0' })
  const base = await unitOf(slapd, 'people')
  await addPerson(slapd, base, NAME, { userPassword: PASSWORD })
  return ldapConfig(slapd, { base })
}

async function measure(scene: Scene, samples: number, accounts: object): Promise<Map<string, number[]>> {
  const lockout = { failures: 1_000_000, address_failures: 1_000_000 }
  const settings = { accounts, login: { rate_limit: 'off', lockout } }
  const gateway = await startGateway(scene, 'times', { settings })
  const store = await openEmbeddedStore(gateway.data, systemClock, 20_000)
  const client = new Client(gateway.url)
  try {
    return await timesOf(client, samples, id => store.captchas.put('BUSINESS', id, 'abcd', Date.now() + 60_000))
  } finally {
    await client.close()
    await store.close()
  }
}

async function timesOf(
  client: Client,
  samples: number,
  answer: (captchaId: string) => Promise<void>,
): Promise<Map<string, number[]>> {
  const ask = async (method: 'GET' | 'POST', path: string, body?: object): Promise<any> => {
    const sent =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await client.request({ method, path: `/api/v1/public/b${path}`, ...sent })
    return await response.body.json()
  }
  const key: string = (await ask('GET', '/sm2/public-key')).data
  const times = new Map<string, number[]>(Object.keys(KINDS).map(kind => [kind, []]))
  const order = shuffled(Object.keys(KINDS).flatMap(kind => Array.from({ length: samples }, () => kind)))
  // The first ones start threads.
  const kinds = [
    ...order.slice(0, 20).map(kind => ({ kind, counts: false })),
    ...order.map(kind => ({ kind, counts: true })),
  ]
  for (const [i, { kind, counts }] of kinds.entries()) {
    const { captcha_id } = (await ask('GET', '/captcha')).data
    await answer(captcha_id)
    const body = { captcha_id, captcha_value: 'abcd', ...KINDS[kind]!(key) }
    const began = performance.now()
    const { message } = await ask('POST', '/login', body)
    if (counts) times.get(kind)!.push(performance.now() - began)
    if (message !== 'Wrong username or password') throw new Error(`${kind}: ${message}`)
    if (i % 500 === 0) note(`${i} of ${kinds.length} logins`)
  }
  return times
}

function shuffled<T>(items: T[]): T[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = randomInt(i + 1)
    ;[items[i], items[j]] = [items[j]!, items[i]!]
  }
  return items
}

/** Whether one of two samples tends to be larger; by ranks, so that a few slow ones decide nothing. */
function mannWhitney(a: readonly number[], b: readonly number[]): { p: number } {
  const ranked = [...a.map(value => ({ value, first: true })), ...b.map(value => ({ value, first: false }))]
  ranked.sort((x, y) => x.value - y.value)
  const rankSum = ranked.reduce((sum, { first }, i) => sum + (first ? i + 1 : 0), 0)
  const u = rankSum - (a.length * (a.length + 1)) / 2
  const mean = (a.length * b.length) / 2
  const deviation = Math.sqrt((a.length * b.length * (a.length + b.length + 1)) / 12)
  return { p: 2 * (1 - normal(Math.abs(u - mean) / deviation)) }
}

/** The normal distribution (Abramowitz and Stegun 26.2.17). */
function normal(z: number): number {
  const t = 1 / (1 + 0.2316419 * z)
  const tail = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
  return 1 - (Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)) * tail
}

/** The shift that a comparison of this many would find, by the spread of their middle half. */
function detectable(sample: readonly number[]): number {
  const sorted = sample.toSorted((a, b) => a - b)
  const deviation = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.349
  // One of five comparisons at 0.05 in all, and a probability of 0.95 to find it.
  const [z, power] = [2.576, 1.645]
  return (z + power) * deviation * Math.sqrt((2 / sample.length) * (Math.PI / 3))
}
