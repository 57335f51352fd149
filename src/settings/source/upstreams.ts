import { checkSignsIn } from '../check/browser.ts'
import { checkPlaces } from '../check/pages.ts'
import { warnOfUnwiseUpstreams } from '../check/unwise/unwise.ts'
import { checkUpstreams } from '../check/upstreams.ts'
import type { Fault } from '../notation/fault.ts'
import type { Decoded } from '../notation/notation.ts'
import { read } from '../notation/read.ts'
import type { Warning, Written } from '../notation/written.ts'
import { labelOf, readYamlFile } from '../notation/yaml.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { type UpstreamSettings, UpstreamsFileSchema } from '../schema/upstreams.ts'

interface ReadUpstreams {
  upstreams: UpstreamSettings[]
  /** What is wrong in the file of the upstreams. */
  faults: Fault[]
  warnings: readonly Warning[]
}

const NO_UPSTREAMS: ReadUpstreams = { upstreams: [], faults: [], warnings: [] }

/** The upstreams, from the list in the configuration or from the file that it names. */
export function readUpstreams(
  decoded: DecodedSettings,
  written: Written,
  hasFile: boolean,
  cwd: string,
  isProduction: boolean,
): ReadUpstreams {
  if (written.isUnread(['upstreams'])) return NO_UPSTREAMS
  const { upstreams } = decoded
  const checkListed = (list: readonly UpstreamSettings[], listed: Written): void => {
    checkUpstreams(list, listed, ['upstreams'])
    if (!written.isFaulty(['gate', 'pages']))
      checkPlaces(decoded.gate.pages, list, listed, (path, message) => written.warn(path, message))
    if (!written.isFaulty(['browser'])) checkSignsIn(decoded, list, listed)
    warnOfUnwiseUpstreams(list, listed, isProduction)
  }
  if (typeof upstreams !== 'string') {
    checkListed(upstreams, written)
    return { upstreams, faults: [], warnings: [] }
  }
  // Without a file there is nothing that the default could stand beside.
  if (!hasFile && written.get(['upstreams']) === undefined) return NO_UPSTREAMS
  const inner = readYamlFile(upstreams, cwd)
  if (inner === null) {
    written.report(['upstreams'], `no such file: ${labelOf(upstreams, cwd)}; create it, or write the list itself here`)
    return NO_UPSTREAMS
  }
  if (!inner.legible) return { upstreams: [], faults: inner.faults, warnings: [] }
  const { upstreams: listed } = read(UpstreamsFileSchema, inner, cwd) as Decoded<typeof UpstreamsFileSchema>
  if (Array.isArray(listed)) {
    checkListed(listed, inner)
  }
  return { upstreams: listed, faults: inner.faults, warnings: inner.warnings }
}
