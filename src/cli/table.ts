import { plain } from '../base/log/terminal-line.ts'

/** The lines of a table: a column is as wide as its longest cell. What could act on a terminal is not in it. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const shown = rows.map(row => row.map(plain))
  const widths = shown[0]!.map((_, column) => shown.reduce((width, row) => Math.max(width, row[column]!.length), 0))
  return shown.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}
