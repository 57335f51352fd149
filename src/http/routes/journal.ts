import { Readable } from 'node:stream'
import { EVENT_NAMES } from '../../event/event.ts'
import { EXPORTED_AT_MOST, type JournalPages } from '../../journal/page.ts'
import { LOGIN_ID_PATTERN } from '../../session/record.ts'
import { LOGIN_TYPES } from '../../session/sides.ts'
import { ENTRY_ID_PATTERN } from '../../store/journal-id.ts'
import { Complete, SAMPLE_USER } from './common-fields.ts'
import type { Contract, DownloadContract, ValueOf } from './contract.ts'
import { answering, type Endpoints, required } from './own-routes.ts'

/** The permission of the journal. Administrators of the B side hold it, for both sides. */
export const SEE_JOURNAL = 'sys:journal:page'

const OPTIONAL_TEXT = ['string', 'null'] as const
const TIME = 'a time: `YYYY-MM-DD HH:MM:SS` in the configured time zone, or ISO 8601.'

const ENTRY = Complete({
  id: { type: 'string', description: 'Id of the entry. Ids sort by time.' },
  time: { type: 'string', description: 'When it happened, `YYYY-MM-DD HH:MM:SS` in the configured time zone.' },
  event: { type: 'string', enum: EVENT_NAMES, description: 'What happened.' },
  type: { type: 'string', enum: LOGIN_TYPES, description: 'The side.' },
  login_id: {
    type: OPTIONAL_TEXT,
    description: 'Login id of the user whom it happened to; `null` for a name that no account has.',
  },
  username: { type: OPTIONAL_TEXT, description: 'Name of that account, as this entry or another one has it.' },
  nickname: { type: OPTIONAL_TEXT, description: 'Its name to show.' },
  by: {
    type: OPTIONAL_TEXT,
    description:
      'Who requested it: a login id, `operations` or `command line`; `null` for the gateway itself, and for a client that it does not know.',
  },
  by_type: {
    type: OPTIONAL_TEXT,
    enum: [...LOGIN_TYPES, null],
    description:
      'The side of the login id in `by`; `null` if `by` is one of these words, or `null`. A login id may be spelled like one of them: then it has its side here.',
  },
  reason: { type: OPTIONAL_TEXT, description: 'Why, where the event alone does not say it.' },
  address: { type: OPTIONAL_TEXT, description: 'Address of the client.' },
  device_type: { type: OPTIONAL_TEXT, description: 'Program of the client.' },
  device_id: { type: OPTIONAL_TEXT, description: 'The name that the program gave itself.' },
  jti: { type: OPTIONAL_TEXT, description: 'Handle of the token, where it is about one.' },
  key: { type: OPTIONAL_TEXT, description: 'Id of the key of a program, where it is about one.' },
  provider: { type: OPTIONAL_TEXT, description: 'The OpenID provider, where the event came by one.' },
  trace_id: { type: OPTIONAL_TEXT, description: 'Id of the request, as in the log.' },
})

const CURSOR = {
  type: 'string',
  pattern: ENTRY_ID_PATTERN,
  description: '`next` of the page before, with the same filters.',
} as const

/** The filters of a page and of an export. */
const FILTERS = {
  login_id: { type: 'string', pattern: LOGIN_ID_PATTERN, description: 'Only entries of this login id.' },
  username: {
    type: 'string',
    maxLength: 128,
    description:
      'Only entries of users with this account name, in any case: of a login id that has the name in any entry. Of at most ten such login ids of a side.',
  },
  type: { type: 'string', enum: LOGIN_TYPES, description: 'Only entries of this side.' },
  event: { type: 'string', enum: EVENT_NAMES, description: 'Only entries of this event.' },
  since: { type: 'string', maxLength: 64, description: `Only entries from then on; ${TIME}` },
  until: { type: 'string', maxLength: 64, description: `Only entries up to then, that second included; ${TIME}` },
} as const

const PAGE = {
  summary: 'The journal, the newest entries first',
  details:
    'Logins and failed ones, logouts, kickouts, disables, and changes of passwords, second factors, accounts and keys, of both sides. An entry appears within some tenths of a second.',
  query: {
    type: 'object',
    properties: {
      size: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Entries on a page.' },
      cursor: CURSOR,
      ...FILTERS,
    },
  },
  data: {
    schema: Complete({
      records: { type: 'array', items: ENTRY, description: 'Entries, the newest first.' },
      next: { type: OPTIONAL_TEXT, description: '`cursor` of the next page; `null` on the last.' },
    }),
    example: {
      records: [
        {
          id: '-OhVkPQ3---f3Xq_z',
          time: '2026-05-16 09:12:44',
          event: 'kickout',
          type: 'CONSUMER',
          login_id: SAMPLE_USER,
          username: 'ann',
          nickname: 'Ann',
          by: '1',
          by_type: 'BUSINESS',
          reason: null,
          address: '203.0.113.7',
          device_type: 'Chrome',
          device_id: 'WEB_PC',
          jti: null,
          key: null,
          provider: null,
          trace_id: '5f1c9a3e7b2d4f60a8e1c3b5d7f90214',
        },
      ],
      next: null,
    },
  },
} as const satisfies Contract

const EXPORT = {
  summary: 'The journal as CSV, the newest entries first',
  details:
    'The same filters as for a page. The columns are the fields of an entry, with the `id` at the end. Text in UTF-8 with a byte order mark, for spreadsheets. A value that a spreadsheet would take for a formula has an apostrophe before it: so has every `id`. The answer ends early if the store fails: then it is not complete, and the connection closes.',
  query: {
    type: 'object',
    properties: {
      size: {
        type: 'integer',
        minimum: 1,
        maximum: EXPORTED_AT_MOST,
        default: EXPORTED_AT_MOST,
        description:
          'Entries at most. An answer with so many may lack older ones: continue with the last `id`, without its apostrophe, as `cursor`.',
      },
      cursor: { ...CURSOR, description: 'An `id`: only older entries.' },
      ...FILTERS,
    },
  },
  download: {
    type: 'text/csv',
    description: 'A line with the names of the columns, then a line for each entry (RFC 4180).',
    example: '"time","event",…\r\n"2026-05-16 09:12:44","kickout",…\r\n',
  },
} as const satisfies DownloadContract

export const journalEndpoints = (journal: JournalPages | null) =>
  ({
    'journal/page': () => {
      const { page } = required(journal)
      return answering(PAGE, ({ query }) => page(query), SEE_JOURNAL)
    },
    'journal/export': () => {
      const pages = required(journal)
      return {
        contract: EXPORT,
        permission: SEE_JOURNAL,
        async send({ query }, reply) {
          const text = await pages.export(query as ValueOf<typeof EXPORT.query>)
          reply.header('cache-control', 'no-store')
          reply.header('content-disposition', 'attachment; filename="journal.csv"')
          return reply.type('text/csv; charset=utf-8').send(Readable.from(text))
        },
      }
    },
  }) satisfies Partial<Endpoints>
