import { faultsOfNode } from '../../src/process/outdated-node.ts'

/** Why tests of ambiguous requests are left out with this version of Node; `false` if they are not. */
export const withoutStrictParser: string | false =
  faultsOfNode(process.versions).length > 0 && `LEFT OUT: Node ${process.versions.node} accepts ambiguous requests`

/** What a command says of its own, without the warning of such a version of Node before it. */
export const withoutNodeWarning = (errors: string): string => errors.replace(/^dualgate: warning: Node .*\n/m, '')
