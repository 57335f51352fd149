import { LOGIN_TYPES } from '../../../session/sides.ts'
import type { Contract } from '../contract.ts'
import { SEE, sessionRoute } from './route.ts'

const ANALYSIS = {
  summary: 'How many users are online',
  data: {
    schema: {
      type: 'object',
      properties: {
        total_count: { type: 'integer', description: 'Live tokens of both sides.' },
        max_token_count: { type: 'integer', description: 'The most live tokens that any one user of either side has.' },
        one_hour_newly_added: { type: 'integer', description: 'Logins of the last hour on both sides.' },
        proportion_of_b_and_c: { type: 'string', description: 'Live tokens as `<B>/<C>`.' },
        online_user_count: { type: 'integer', description: 'Users of this side with a live token.' },
        today_login_count: {
          type: 'integer',
          description: 'Logins of this side today, in the configured time zone.',
        },
      },
      required: [
        'total_count',
        'max_token_count',
        'one_hour_newly_added',
        'proportion_of_b_and_c',
        'online_user_count',
        'today_login_count',
      ],
    },
    example: {
      total_count: 12,
      max_token_count: 3,
      one_hour_newly_added: 2,
      proportion_of_b_and_c: '4/8',
      online_user_count: 3,
      today_login_count: 5,
    },
  },
} as const satisfies Contract

export const analysis = sessionRoute(SEE, ANALYSIS, (_request, type, { administration }) =>
  administration.analysis(type),
)

const SERIES = {
  type: 'object',
  properties: {
    name: { type: 'string', enum: LOGIN_TYPES, description: 'The side.' },
    data: { type: 'array', items: { type: 'integer' }, description: 'Logins of each day.' },
  },
  required: ['name', 'data'],
} as const

const SHARE = {
  type: 'object',
  properties: {
    category: { type: 'string', enum: LOGIN_TYPES, description: 'The side.' },
    total: { type: 'integer', description: 'Live tokens.' },
  },
  required: ['category', 'total'],
} as const

const CHART = {
  summary: 'Logins of seven days, and live tokens by side',
  data: {
    schema: {
      type: 'object',
      properties: {
        bar_chart: {
          type: 'object',
          properties: {
            days: { type: 'array', items: { type: 'string' }, description: 'Seven dates, today last.' },
            series: { type: 'array', items: SERIES, description: 'Logins per day of both sides.' },
          },
          required: ['days', 'series'],
        },
        pie_chart: {
          type: 'object',
          properties: { data: { type: 'array', items: SHARE, description: 'Live tokens of both sides.' } },
          required: ['data'],
        },
      },
      required: ['bar_chart', 'pie_chart'],
    },
    example: {
      bar_chart: {
        days: ['2026-05-10', '2026-05-11', '2026-05-12', '2026-05-13', '2026-05-14', '2026-05-15', '2026-05-16'],
        series: [{ name: 'BUSINESS', data: [3, 0, 4, 2, 7, 5, 1] }],
      },
      pie_chart: { data: [{ category: 'BUSINESS', total: 12 }] },
    },
  },
} as const satisfies Contract

export const chart = sessionRoute(SEE, CHART, (_request, _type, { administration }) => administration.chart())
