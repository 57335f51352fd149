import { h, show, svg } from '../elements/dom.js'
import { compact, count, dayLabel } from '../language/format.js'
import { t } from '../language/language.js'

/** @typedef {'BUSINESS' | 'CONSUMER'} SideName */
/** @typedef {{ days: string[], series: { name: SideName, data: number[] }[] }} Bars */
/** @typedef {{ data: { category: SideName, total: number }[] }} Shares */

/** In pixels at the usual size of text, with which the charts grow. */
const HEIGHT = 190
const LEFT = 44
const TOP = 10
const BOTTOM = 24
const GAP = 3
/** Width of the label of a day. */
const LABEL = 48

/**
 * Logins per day of both sides, as bars. The chart is drawn for the available width, so that its texts have the size of others. A
 * hidden table has the same data for screen readers.
 *
 * @param {Bars} data
 */
export function barChart({ days, series }) {
  const plot = h('div', { class: 'plot', 'aria-hidden': 'true' })
  const legend = h('p', { class: 'legend', 'aria-hidden': 'true' })
  const showDay = (/** @type {number} */ at) =>
    show(
      legend,
      h('span', { class: 'quiet' }, dayLabel(days[at] ?? '')),
      series.map(({ name, data }) => key(name, data[at] ?? 0)),
    )
  const today = days.length - 1
  showDay(today)
  const draw = () => {
    // An element outside of the page has no width.
    const width = (plot.clientWidth * HEIGHT) / plot.clientHeight
    if (width > LEFT) show(plot, drawBars(width, days, series, showDay, today))
  }
  new ResizeObserver(draw).observe(plot)
  return h('div', { class: 'chart' }, legend, plot, hiddenTable(days, series))
}

/**
 * @param {SideName} name
 * @param {number} amount
 */
const key = (name, amount) =>
  h('span', { class: 'key' }, h('i', { class: `swatch ${name}` }), `${t(name)} `, h('b', {}, count(amount)))

/**
 * @param {number} width
 * @param {string[]} days
 * @param {Bars['series']} series
 * @param {(at: number) => void} showDay
 * @param {number} today
 */
function drawBars(width, days, series, showDay, today) {
  const most = Math.max(...series.flatMap(({ data }) => data))
  const ticks = ticksUpTo(most)
  const top = /** @type {number} */ (ticks.at(-1))
  const plotHeight = HEIGHT - TOP - BOTTOM
  const y = (/** @type {number} */ amount) => TOP + plotHeight * (1 - amount / top)
  const slot = (width - LEFT) / days.length
  const bar = Math.min(18, Math.max(4, (slot * 0.6 - GAP) / series.length))
  const group = series.length * bar + (series.length - 1) * GAP
  return svg(
    'svg',
    { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, onpointerleave: () => showDay(today) },
    ticks.flatMap(tick => [
      svg('line', { class: tick === 0 ? 'axis' : 'grid', x1: LEFT, x2: width, y1: y(tick), y2: y(tick) }),
      svg('text', { class: 'tick', x: LEFT - 8, y: y(tick) + 4, 'text-anchor': 'end' }, compact(tick)),
    ]),
    days.map((day, at) => {
      const middle = LEFT + slot * (at + 0.5)
      // The last label would be cut off at the edge if it were wider than its day.
      const labelAt = (/** @type {boolean} */ isWide) =>
        isWide ? { x: width, 'text-anchor': 'end' } : { x: middle, 'text-anchor': 'middle' }
      return svg(
        'g',
        { class: 'day', onpointerenter: () => showDay(at) },
        svg('rect', { class: 'column', x: LEFT + slot * at, y: TOP, width: slot, height: plotHeight }),
        series.map(({ name, data }, i) => {
          const amount = data[at] ?? 0
          const x = middle - group / 2 + i * (bar + GAP)
          const height = amount === 0 ? 0 : Math.max(2, y(0) - y(amount))
          return svg('rect', { class: `bar ${name}`, x, y: y(0) - height, width: bar, height, rx: Math.min(2, height) })
        }),
        // If labels would touch, only every other day has one, and always today.
        (slot > LABEL || (today - at) % 2 === 0) &&
          svg('text', { class: 'tick', y: HEIGHT - 6, ...labelAt(at === today && slot <= LABEL) }, dayLabel(day)),
      )
    }),
  )
}

/**
 * Round numbers from 0 to at least `most`, in at most four steps.
 *
 * @param {number} most
 */
function ticksUpTo(most) {
  const rough = Math.max(most, 1) / 4
  const magnitude = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, [1, 2, 5, 10].map(n => n * magnitude).find(n => n >= rough) ?? rough)
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, i) => i * step)
}

/**
 * @param {string[]} days
 * @param {Bars['series']} series
 */
const hiddenTable = (days, series) =>
  h(
    'table',
    { class: 'unseen' },
    h('caption', {}, t('logins_per_day')),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', {}, t('day')),
        series.map(({ name }) => h('th', {}, t(name))),
      ),
    ),
    h(
      'tbody',
      {},
      days.map((day, at) =>
        h(
          'tr',
          {},
          h('th', {}, day),
          series.map(({ data }) => h('td', {}, data[at] ?? 0)),
        ),
      ),
    ),
  )

const RADIUS = 52
const STROKE = 18

/**
 * Live tokens by side, as a ring.
 *
 * @param {Shares} shares
 */
export function ringChart({ data }) {
  const sum = data.reduce((total, one) => total + one.total, 0)
  const around = 2 * Math.PI * RADIUS
  let start = 0
  const arcs = data.map(({ category, total }) => {
    const length = sum === 0 ? 0 : (total / sum) * around
    const arc = svg('circle', {
      class: `arc ${category}`,
      r: RADIUS,
      'stroke-width': STROKE,
      'stroke-dasharray': `${length} ${around - length}`,
      'stroke-dashoffset': -start,
      transform: 'rotate(-90)',
    })
    start += length
    return arc
  })
  return h(
    'div',
    { class: 'ring' },
    svg(
      'svg',
      { viewBox: '-64 -64 128 128', 'aria-hidden': 'true' },
      svg('circle', { class: 'arc rest', r: RADIUS, 'stroke-width': STROKE }),
      sum === 0 ? [] : arcs,
      svg('text', { class: 'sum', 'text-anchor': 'middle', y: 3 }, compact(sum)),
      svg('text', { class: 'tick', 'text-anchor': 'middle', y: 19 }, t('tokens')),
    ),
    h(
      'ul',
      { class: 'legend' },
      data.map(({ category, total }) => h('li', {}, key(category, total), ' ', share(total, sum))),
    ),
  )
}

/**
 * @param {number} part
 * @param {number} sum
 */
const share = (part, sum) => h('span', { class: 'quiet' }, sum === 0 ? '' : `${Math.round((100 * part) / sum)} %`)
