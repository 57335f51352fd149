import fastifyJwt from '@fastify/jwt'
import type { FastifyInstance } from 'fastify'
import type { Settings } from '../config/schema.ts'
import type { Signer } from '../token/jwt.ts'

/** Gives a listener the JWT plugin and hands its signing and verifying on, pinned to the one configured algorithm. */
export async function registerJwt(app: FastifyInstance, { secret_key, algorithm }: Settings['jwt']): Promise<Signer> {
  await app.register(fastifyJwt, {
    secret: secret_key,
    sign: { algorithm },
    verify: { algorithms: [algorithm] },
  })
  return {
    sign: claims => app.jwt.sign({ ...claims }),
    verify: token => app.jwt.verify(token),
  }
}
