import { bySide, type LoginType, SIDES } from '../../../session/sides.ts'

type SecurityScheme =
  | { type: 'http'; scheme: 'bearer'; bearerFormat?: string; description: string }
  | { type: 'apiKey'; in: 'header'; name: string; description: string }

/** How the clients of a route prove who they are. */
export function securitySchemes(tokenName: string): Record<LoginType | 'secret', SecurityScheme> {
  const byToken = (side: LoginType): SecurityScheme =>
    tokenName.toLowerCase() === 'authorization'
      ? {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: `The token of a live ${SIDES[side].letter}-side session.`,
        }
      : {
          type: 'apiKey',
          in: 'header',
          name: tokenName,
          description: `\`Bearer \` and the token of a live ${SIDES[side].letter}-side session.`,
        }
  return {
    ...bySide(byToken),
    secret: {
      type: 'http',
      scheme: 'bearer',
      description: 'The secret of the internal listener, `internal.secret`.',
    },
  }
}
