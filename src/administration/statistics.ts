import { type Clock, DAY } from '../base/clock.ts'
import type { TimestampFormat } from '../base/timestamp.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import type { OnlineUsers } from '../store/online.ts'

const HOUR = 3_600_000
const CHART_DAYS = 7

export interface Analysis {
  /** Live tokens of both sides. */
  total_count: number
  /** The most live tokens of any one user of both sides. */
  max_token_count: number
  /** Logins of the last hour on both sides. */
  one_hour_newly_added: number
  /** Live tokens, `<B>/<C>`. */
  proportion_of_b_and_c: string
  /** Users of the requested side with a live token. */
  online_user_count: number
  /** Logins of the requested side today, in the configured time zone. */
  today_login_count: number
}

export interface Chart {
  bar_chart: { days: string[]; series: { name: LoginType; data: number[] }[] }
  pie_chart: { data: { category: LoginType; total: number }[] }
}

export interface StatisticsOptions {
  online: OnlineUsers
  clock: Clock
  timestamps: TimestampFormat
}

/** The numbers of "Session administration": `analysis` for one side, `chart` for both. */
export function createStatistics({ online, clock, timestamps }: StatisticsOptions) {
  const tallies = () => Promise.all(LOGIN_TYPES.map(type => online.tally(type)))

  async function analysis(type: LoginType): Promise<Analysis> {
    const since = clock.now() - HOUR
    const [[business, consumer], added, own, [todays]] = await Promise.all([
      tallies(),
      Promise.all(LOGIN_TYPES.map(side => online.loginsSince(side, since))),
      online.tally(type),
      online.loginsOn(type, [timestamps.day(clock.now())]),
    ])
    const [b, c] = [business!, consumer!]
    return {
      total_count: b.tokens + c.tokens,
      max_token_count: Math.max(b.maxTokensPerUser, c.maxTokensPerUser),
      one_hour_newly_added: added.reduce((sum, count) => sum + count, 0),
      proportion_of_b_and_c: `${b.tokens}/${c.tokens}`,
      online_user_count: own.users,
      today_login_count: todays ?? 0,
    }
  }

  /** Logins of the last seven days, today last, and the live tokens, of both sides. */
  async function chart(): Promise<Chart> {
    const now = clock.now()
    // Noon of each day: no change of clocks moves it to another date.
    const noon = timestamps.read(`${timestamps.day(now)} 12:00:00`) ?? now
    const days = Array.from({ length: CHART_DAYS }, (_, i) => timestamps.day(noon - (CHART_DAYS - 1 - i) * DAY))
    const [logins, live] = await Promise.all([
      Promise.all(LOGIN_TYPES.map(type => online.loginsOn(type, days))),
      tallies(),
    ])
    return {
      bar_chart: { days, series: LOGIN_TYPES.map((name, i) => ({ name, data: logins[i] ?? [] })) },
      pie_chart: { data: LOGIN_TYPES.map((category, i) => ({ category, total: live[i]?.tokens ?? 0 })) },
    }
  }

  return { analysis, chart }
}
