// Makes the source map of the bundle small: reading a map takes a while, and packages are readable in the bundle itself.
import { decode, encode } from '@jridgewell/sourcemap-codec'

/**
 * The map of the same text below one more line, which leads only to the sources that `isKept` accepts. A segment is column,
 * source, line and column there (https://tc39.es/ecma426/); one with a column alone ends the place of the one before.
 */
export function mapOf({ mappings, sources, sourcesContent, ...rest }, isKept) {
  const own = sources.filter(isKept)
  const contents = sourcesContent.filter((_, index) => isKept(sources[index]))
  const placeOf = sources.map(source => own.indexOf(source))
  let wasMapped = false
  const segmentOf = ([column, source, line, at]) => {
    const place = source === undefined ? -1 : placeOf[source]
    const [isMapped, isEnd] = [place >= 0, wasMapped && place < 0]
    wasMapped = isMapped
    if (isMapped) return [[column, place, line, at]]
    return isEnd ? [[column]] : []
  }
  const lines = decode(mappings).map(line => line.flatMap(segmentOf))
  return `${JSON.stringify({ ...rest, sources: own, sourcesContent: contents, names: [], mappings: encode([[], ...lines]) })}\n`
}
