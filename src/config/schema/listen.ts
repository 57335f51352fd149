import Type from 'typebox'
import { Duration, Off, Path, Port, Section, Size, Variant } from './notation.ts'

export const Listen = Section(
  {
    host: Type.String({ minLength: 1, default: '0.0.0.0', description: 'Address of the public port.' }),
    port: Port(8080, 'The public port.'),
    tls: Type.Optional(
      Variant(
        {
          cert: Path({ description: 'PEM file with the certificate, and the chain behind it.' }),
          key: Path({ description: 'PEM file with the private key, without a passphrase.' }),
        },
        'HTTPS instead of HTTP; the files are followed while the gateway runs.',
      ),
    ),
    timeouts: Section(
      {
        headers: Duration('10s', 'For the head of a request, and for a TLS handshake.'),
        body: Duration('30s', 'Without a byte of a body that is not complete.'),
        keep_alive: Duration('65s', 'For the next request on a connection.'),
      },
      'How long the public listener waits for its clients.',
    ),
    min_rate: Type.Union(
      [Off, Size('Bytes per second, of which a client sends and accepts at least as many, or off.')],
      {
        default: '1KiB',
        'x-form': 'a size such as 1KiB, per second, or off',
        description:
          'What a client sends of a body, and accepts of an answer, per second at least, on average; or off.',
      },
    ),
    max_connections: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 20_000,
      description: 'Connections that each worker holds at a time; those beyond are closed.',
    }),
    max_connections_per_address: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Those of one client address; unset: a quarter of max_connections, at least 20.',
      }),
    ),
  },
  'The public listener.',
)

export const Workers = Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 1, maximum: 64 })], {
  default: 'auto',
  'x-form': 'auto, or a whole number from 1 to 64',
  description: 'Processes that serve: auto is one per core; 1 is one process with nothing beside it.',
})
