import type { Fault } from '../../yaml/fault.ts'
import type { Decoded } from '../../yaml/notation.ts'
import { read } from '../../yaml/read.ts'
import type { Written } from '../../yaml/written.ts'
import { labelOf, readYamlFile } from '../../yaml/yaml.ts'
import { checkUpstreams } from '../check/upstreams.ts'
import type { DecodedSettings } from '../schema/settings.ts'
import { type UpstreamSettings, UpstreamsFileSchema } from '../schema/upstreams.ts'

interface ReadUpstreams {
  upstreams: UpstreamSettings[]
  /** What is wrong in the file of the upstreams. */
  faults: Fault[]
}

/** The upstreams, from the list in the configuration or from the file that it names. */
export function readUpstreams(
  decoded: DecodedSettings,
  written: Written,
  file: string | undefined,
  cwd: string,
): ReadUpstreams {
  if (written.isFaulty(['upstreams'])) return { upstreams: [], faults: [] }
  const { upstreams } = decoded
  if (typeof upstreams !== 'string') {
    checkUpstreams(upstreams, written, ['upstreams'])
    return { upstreams, faults: [] }
  }
  // Without a file there is nothing that the default could stand beside.
  if (file === undefined && written.get(['upstreams']) === undefined) return { upstreams: [], faults: [] }
  const inner = readYamlFile(upstreams, cwd)
  if (inner === null) {
    written.report(['upstreams'], `no such file: ${labelOf(upstreams, cwd)}; create it, or write the list itself here`)
    return { upstreams: [], faults: [] }
  }
  if (!inner.legible) return { upstreams: [], faults: inner.faults }
  const { upstreams: listed } = read(UpstreamsFileSchema, inner, cwd) as Decoded<typeof UpstreamsFileSchema>
  if (Array.isArray(listed)) checkUpstreams(listed, inner, ['upstreams'])
  return { upstreams: listed, faults: inner.faults }
}
