import type { StaticDecode } from 'typebox'
import type { Decoded } from './check.ts'
import type { Fault } from './fault.ts'
import { PermissionsFileSchema, type RoleGrants } from './permission-schema.ts'
import { read } from './read.ts'
import type { Written } from './written.ts'
import { labelOf, readYamlFile } from './yaml.ts'

interface ReadRoles {
  roles: RoleGrants
  /** What is wrong in the file of the permissions. */
  faults: Fault[]
}

/** What the roles grant. A file that nobody named need not be there; then roles grant nothing. */
export function readRoles({ permissions }: Decoded, written: Written, cwd: string): ReadRoles {
  if (written.isFaulty(['permissions'])) return { roles: {}, faults: [] }
  const isNamed = written.get(['permissions']) !== undefined && written.get(['permissions']) !== null
  const inner = readYamlFile(permissions, cwd)
  if (inner === null) {
    if (isNamed)
      written.report(['permissions'], `no such file: ${labelOf(permissions, cwd)}; create it, or remove this line`)
    return { roles: {}, faults: [] }
  }
  if (!inner.legible) return { roles: {}, faults: inner.faults }
  const { roles } = read(PermissionsFileSchema, inner, cwd) as StaticDecode<typeof PermissionsFileSchema>
  if (!inner.isFaulty(['roles'])) checkRoles(roles, inner)
  return { roles, faults: inner.faults }
}

function checkRoles(roles: RoleGrants, written: Written): void {
  if (Object.hasOwn(roles, 'SUPER_ADMIN')) {
    written.report(
      ['roles', 'SUPER_ADMIN'],
      'holds everything, and no line could take something from it; remove this one',
    )
  }
}
