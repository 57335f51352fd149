import { type Decoded, Path, Section } from '../notation/notation.ts'

/* What holds for the assertions of all upstreams (browser mode: Identity as standard software reads it). */

export const Identity = Section(
  {
    issuer: {
      type: 'string',
      minLength: 1,
      maxLength: 256,
      default: 'dualgate',
      description: 'The issuer (`iss`) of assertions.',
    },
    key_file: Path({
      description:
        'PEM file with the private key that signs assertions, EC P-256; unset: generated into the data folder.',
    }),
    previous_key_file: Path({
      description:
        'PEM file with a key that is published besides and signs nothing: the previous one, or the next one.',
    }),
  },
  'The keys of assertions (identity.assertion of an upstream).',
)

export type IdentitySettings = Decoded<typeof Identity>
