// Makes the source map of the bundle small: reading a map takes a while, and packages are readable in the bundle itself.
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * The map of the same text below one more line, which leads only to the sources that `isKept` accepts. A segment is what
 * https://tc39.es/ecma426/ says: column, source, line and column there. One with a column alone has no source.
 */
export function mapOf({ mappings, sources, ...rest }, isKept) {
  const isOwn = sources.map(isKept)
  const own = sources.filter((_, index) => isOwn[index])
  let read = [0, 0, 0, 0]
  let written = [0, 0, 0, 0]
  let isMapped = false
  const segmentOf = segment => {
    const [column, ...place] = decode(segment).map((delta, field) => delta + read[field])
    read = [column, ...place, ...read.slice(place.length + 1)]
    const wasMapped = isMapped
    isMapped = place.length > 0 && isOwn[place[0]]
    if (!isMapped && !wasMapped) return []
    const [source, line, at] = place
    const fields = isMapped ? [column, own.indexOf(sources[source]), line, at] : [column]
    const text = encode(fields.map((value, field) => value - written[field]))
    written = [...fields, ...written.slice(fields.length)]
    return [text]
  }
  const lines = mappings.split(';').map(line => {
    read[0] = 0
    written[0] = 0
    return line.split(',').filter(Boolean).flatMap(segmentOf).join(',')
  })
  return `${JSON.stringify({ ...rest, sources: own, names: [], mappings: `;${lines.join(';')}` })}\n`
}

/** The numbers of a segment: digits of five bits, the lowest first, and the sign in the lowest bit. */
function decode(segment) {
  const numbers = []
  let [number, shift] = [0, 0]
  for (const letter of segment) {
    const digit = DIGITS.indexOf(letter)
    number |= (digit & 31) << shift
    shift += 5
    if (digit >= 32) continue
    numbers.push(number & 1 ? -(number >> 1) : number >> 1)
    ;[number, shift] = [0, 0]
  }
  return numbers
}

const encode = numbers => numbers.map(number => digitsOf(number < 0 ? (-number << 1) | 1 : number << 1)).join('')
const digitsOf = rest => (rest < 32 ? DIGITS[rest] : DIGITS[(rest & 31) | 32] + digitsOf(rest >> 5))
