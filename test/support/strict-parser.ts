import { faultsOfNode } from '../../src/process/outdated-node.ts'

/** Why tests of ambiguous requests are left out with this version of Node; `false` if they are not. */
export const withoutStrictParser: string | false =
  faultsOfNode(process.versions).length > 0 && `LEFT OUT: Node ${process.versions.node} accepts ambiguous requests`
