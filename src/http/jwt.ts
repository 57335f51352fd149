import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import fastifyJwt from '@fastify/jwt'
import { fastify } from 'fastify'
import type { Settings } from '../settings/schema/settings.ts'
import type { Token } from '../token/bearer.ts'
import type { JwtAlgorithm, Signer } from '../token/jwt.ts'

/** RFC 7518 3.2. */
const HASHES: Readonly<Record<JwtAlgorithm, string>> = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' }

/** Signs and verifies with the JWT plugin, in a context of its own and with the configured algorithm only. */
export async function createSigner({
  secret_key,
  algorithm,
}: Pick<Settings['jwt'], 'secret_key' | 'algorithm'>): Promise<Signer> {
  const app = fastify()
  await app.register(fastifyJwt, {
    secret: secret_key,
    sign: { algorithm },
    verify: { algorithms: [algorithm] },
  })
  return {
    sign: claims => app.jwt.sign({ ...claims }),
    verify: token => app.jwt.verify(token),
    isSigned: createSignatureCheck(secret_key, HASHES[algorithm]),
  }
}

/** The signature alone: the library refuses claims (`exp`, `nbf`) as well, and takes twice as long. */
function createSignatureCheck(secret: string, hash: string): (token: Token) => boolean {
  const key = createSecretKey(secret, 'utf8')
  return token => {
    const end = token.lastIndexOf('.')
    const expected = createHmac(hash, key).update(token.slice(0, end)).digest()
    const signature = Buffer.from(token.slice(end + 1), 'base64url')
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  }
}
