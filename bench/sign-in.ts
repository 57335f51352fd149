import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import bcrypt from 'bcrypt'
import smCrypto from 'sm-crypto'
import type { Client } from 'undici'
import type { CaptchaStore } from '../src/store/store.ts'

/** The password of every account. */
export const PASSWORD = 'a password of some length'
export const ACCOUNTS = Array.from({ length: 32 }, (_, i) => `operator${i}`)
const BCRYPT_COST = 10

/** Writes an accounts file into a folder and returns the settings of a gateway with these accounts and without login limits. */
export function accountSettings(folder: string): Record<string, unknown> {
  const path = join(folder, 'accounts.yaml')
  const password = bcrypt.hashSync(PASSWORD, BCRYPT_COST)
  const accounts = ACCOUNTS.map((username, i) => ({
    id: `${1000 + i}`,
    username,
    password,
    nickname: username,
    status: 'ACTIVE',
    roles: [],
    permissions: [],
  }))
  writeFileSync(path, JSON.stringify({ accounts }), { mode: 0o600 })
  return { accounts: { kind: 'file', path }, login: { rate_limit: 'off' } }
}

/** A password as a browser sends it. One ciphertext is as good as another; making one costs more than reading one. */
export async function encryptFor(client: Client, password: string): Promise<string> {
  return smCrypto.sm2.doEncrypt(password, (await ask(client, 'GET', '/sm2/public-key')) as string, 1)
}

/**
 * One complete login: captcha, SM2, bcrypt. The picture is not read: the answer in the gateway's store is replaced by a
 * known one. `elapsed` is the time of the login without its captcha, in milliseconds; no token: it was refused.
 */
export async function signIn(
  client: Client,
  captchas: CaptchaStore,
  username: string,
  password: string,
): Promise<{ token: string | null; elapsed: number }> {
  const captcha = (await ask(client, 'GET', '/captcha')) as { captcha_id: string } | null
  if (captcha === null) return { token: null, elapsed: 0 }
  const { captcha_id } = captcha
  await captchas.put('BUSINESS', captcha_id, 'abcd', Date.now() + 60_000)
  const began = performance.now()
  const answer = await ask(client, 'POST', '/login', { captcha_id, captcha_value: 'abcd', username, password })
  return { token: (answer as { token: string } | null)?.token ?? null, elapsed: performance.now() - began }
}

async function ask(client: Client, method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> {
  const sent = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await client.request({ method, path: `/api/v1/public/b${path}`, ...sent })
  return ((await response.body.json()) as { data: unknown }).data
}
