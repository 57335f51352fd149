import Type, { type StaticDecode } from 'typebox'
import { Duration, Secret, Variant } from './notation.ts'

const Webhook = Variant(
  {
    url: Type.String({ pattern: '^https?://', description: 'Where events are posted, one JSON object each.' }),
    secret: Secret({
      minLength: 32,
      'x-form': 'a text of 32 characters or more',
      description: 'Key of the signature.',
    }),
    timeout: Duration('5s', 'How long one attempt may take.'),
    give_up_after: Duration('1h', 'How long an event that is not taken is tried again.'),
  },
  'A receiver of events.',
)

export const Events = Type.Object(
  {
    webhooks: Type.Array(Webhook, { default: [], description: 'Receivers of every event.' }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'What happens to sessions and login ids: one log line each, and one signed request per receiver.',
  },
)

export type WebhookSettings = StaticDecode<typeof Webhook>
