import { get } from '../api.js'
import { h, show } from '../elements/dom.js'
import { pointerReleased } from '../elements/pointer.js'
import { count } from '../language/format.js'
import { t } from '../language/language.js'
import { barChart, ringChart } from './charts.js'

/**
 * @typedef {{ total_count: number, max_token_count: number, one_hour_newly_added: number, online_user_count: number,
 *   today_login_count: number }} Analysis
 */

/**
 * The numbers and charts above the list.
 *
 * @param {Element} place
 */
export function createOverview(place) {
  /** @type {{ base: string, analysis: Analysis, chart: any } | null} */
  let shown = null
  let hasFailed = false

  return {
    /**
     * @param {string} base The side's endpoints.
     * @param {() => boolean} isNewest Whether nothing was requested after this.
     */
    async load(base, isNewest) {
      try {
        const [analysis, chart] = await Promise.all([get(`${base}/analysis`), get(`${base}/chart-data`)])
        await pointerReleased()
        if (!isNewest()) return
        const isSame = JSON.stringify(shown) === JSON.stringify({ base, analysis, chart })
        shown = { base, analysis, chart }
        hasFailed = false
        if (!isSame) this.draw()
      } catch (problem) {
        if (isNewest()) {
          hasFailed = true
          // Numbers that were loaded before stay, but not those of the other side.
          if (shown?.base !== base) shown = null
          this.draw()
        }
        throw problem
      }
    },
    draw() {
      if (shown === null) return show(place, !hasFailed && h('p', { class: 'quiet' }, t('loading')))
      const { analysis, chart } = shown
      show(
        place,
        h(
          'dl',
          { class: 'cards' },
          card(t('online_users'), analysis.online_user_count),
          card(t('logins_today'), analysis.today_login_count),
          card(t('live_tokens'), analysis.total_count),
          card(t('logins_hour'), analysis.one_hour_newly_added),
          card(t('most_tokens'), analysis.max_token_count),
        ),
        h(
          'div',
          { class: 'charts' },
          panel(t('logins_per_day'), barChart(chart.bar_chart)),
          panel(t('tokens_by_side'), ringChart(chart.pie_chart)),
        ),
      )
    },
  }
}

/**
 * @param {string} name
 * @param {number} amount
 */
const card = (name, amount) => h('div', { class: 'card' }, h('dt', {}, name), h('dd', {}, count(amount)))

/**
 * @param {string} title
 * @param {Node} content
 */
const panel = (title, content) => h('section', { class: 'panel' }, h('h2', {}, title), content)
