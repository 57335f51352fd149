/** How programs for tables recognize UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Such a cell is a formula for programs for tables, also behind spaces: one that begins with `=`, `+`, `-` or `@`, as ASCII or in
 * full width, or with a tab or a line end. An apostrophe before it makes it a text.
 */
const FORMULA = /^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/

function cellOf(value: string | null): string {
  if (value === null) return ''
  const text = FORMULA.test(value) ? `'${value}` : value
  return `"${text.replaceAll('"', '""')}"`
}

const lineOf = (values: readonly (string | null)[]): string => `${values.map(cellOf).join(',')}\r\n`

/** Records as CSV (RFC 4180), in UTF-8, some at a time: first the names of the columns, then a line for each record. */
export async function* csvOf<K extends string>(
  columns: readonly K[],
  batches: AsyncIterable<readonly Readonly<Record<K, string | null>>[]>,
): AsyncGenerator<string> {
  yield BYTE_ORDER_MARK + lineOf(columns)
  for await (const records of batches) {
    if (records.length > 0) yield records.map(record => lineOf(columns.map(name => record[name]))).join('')
  }
}
