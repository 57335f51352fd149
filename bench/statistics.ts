/** Figures of several rounds: their middle, and how far they lie apart. */
export interface Spread {
  median: number
  least: number
  most: number
}

export function spreadOf(figures: readonly number[]): Spread {
  const sorted = figures.toSorted((a, b) => a - b)
  return { median: quantile(sorted, 0.5), least: sorted[0] ?? Number.NaN, most: sorted.at(-1) ?? Number.NaN }
}

export const medianOf = (figures: readonly number[]): number => spreadOf(figures).median

/** The figure below which a share of all sorted ones lies. */
export function quantile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return Number.NaN
  const at = (sorted.length - 1) * share
  const below = Math.floor(at)
  const low = sorted[below]!
  return low + (at - below) * ((sorted[below + 1] ?? low) - low)
}

export const whole = (figure: number): string =>
  Number.isFinite(figure) ? Math.round(figure).toLocaleString('en').replaceAll(',', ' ') : '–'
export const fixed = (figure: number, digits = 2): string => (Number.isFinite(figure) ? figure.toFixed(digits) : '–')

/** Prints rows as a Markdown table, ready for the README. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map(row => (row[i] ?? '').length)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, i) => (i === 0 ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '').padStart(width))).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  console.log([line(head), rule, ...rows.map(line)].join('\n') + '\n')
}

/** Reports progress on standard error; standard output has only the tables. */
export const note = (text: string): void => console.error(`  ${text}`)
