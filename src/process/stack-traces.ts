import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, resolve } from 'node:path'

/**
 * Names the files and lines of the sources in stack traces, instead of places in the bundle. Node does so by itself only
 * for modules that it loads. The map is read when the first trace is written.
 */
export function nameSources(bundle: string): void {
  let map: SourceMap | null | undefined
  const originOf = (line: number, column: number): string | null => {
    if (map === undefined) map = readMap(`${bundle}.map`)
    const origin = map?.findOrigin(line, column)
    if (origin === undefined || !('fileName' in origin) || origin.fileName === undefined) return null
    return `${resolve(dirname(bundle), origin.fileName)}:${origin.lineNumber}:${origin.columnNumber}`
  }
  const describe = (site: NodeJS.CallSite): string => {
    const [line, column] = [site.getLineNumber(), site.getColumnNumber()]
    if (site.getFileName() !== bundle || line === null || column === null) return String(site)
    return String(site).replace(`${bundle}:${line}:${column}`, place => originOf(line, column) ?? place)
  }
  Error.prepareStackTrace = (fault, sites) =>
    [Error.prototype.toString.call(fault), ...sites.map(describe)].join('\n    at ')
}

/** `null` if the file is missing or damaged. */
function readMap(file: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return null
  }
}
