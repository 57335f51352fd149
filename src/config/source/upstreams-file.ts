import type { Fault } from '../../yaml/fault.ts'
import type { Decoded } from '../../yaml/notation.ts'
import { read } from '../../yaml/read.ts'
import type { Warning, Written } from '../../yaml/written.ts'
import { labelOf, readYamlFile } from '../../yaml/yaml.ts'
import { warnOfUnwiseUpstreams } from '../check/unwise/unwise.ts'
import { checkUpstreams } from '../check/upstreams.ts'
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
  if (typeof upstreams !== 'string') {
    checkUpstreams(upstreams, written, ['upstreams'])
    warnOfUnwiseUpstreams(upstreams, written, isProduction)
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
    checkUpstreams(listed, inner, ['upstreams'])
    warnOfUnwiseUpstreams(listed, inner, isProduction)
  }
  return { upstreams: listed, faults: inner.faults, warnings: inner.warnings }
}
