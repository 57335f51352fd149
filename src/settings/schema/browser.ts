import { Path, Section, Switch, Url } from '../notation/notation.ts'
import { Origins } from './gate.ts'

/** Sessions that browsers keep in a cookie, and the gateway's own sign-in page. */
export const Browser = Section(
  {
    business: Switch(false, 'Users of the B side may keep their session in a cookie.'),
    consumer: Switch(false, 'Users of the C side may keep their session in a cookie.'),
    url: Url({
      pattern: '^https?://[^\\s@/?#]+$',
      'x-form': 'an origin such as https://admin.example.com',
      description: 'The address at which browsers reach the gateway; needed with login.providers.',
    }),
    secure: Switch(true, 'Browsers send the cookie over HTTPS only; off for plain HTTP in an intranet.'),
    keep: {
      enum: ['session', 'browser'],
      default: 'session',
      description:
        'session: browsers keep the cookie as long as the token lives. browser: until the browser is closed.',
    },
    domain: {
      type: 'string',
      pattern: '^[a-z0-9-]+(?:\\.[a-z0-9-]+)+$',
      'x-form': 'a domain in lower case, such as example.com',
      description: 'The cookie is sent to this domain and all below it; unset: to the host of the gateway alone.',
    },
    origins: Origins({
      default: [],
      description: 'Further origins whose pages may send writes with the cookie, and to which the sign-in may lead.',
    }),
    title: {
      type: 'string',
      minLength: 1,
      maxLength: 80,
      default: 'dualgate',
      description: 'Title of the sign-in page.',
    },
    logo: Path({ description: 'SVG or PNG file that the sign-in page shows instead of the mark of dualgate.' }),
    consumer_page: Url({
      pattern: '^https?://[^\\s\\\\]+$',
      'x-form': 'a URL such as https://shop.example/login',
      description: "The operator's own sign-in page of consumers, for a C side whose login the gateway does not serve.",
    }),
  },
  'Browser sessions: a session in a cookie, and the sign-in page at /sign-in/.',
)
