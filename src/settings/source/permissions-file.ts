import { SUPER_ADMIN } from '../../session/record.ts'
import type { Fault } from '../notation/fault.ts'
import type { Decoded } from '../notation/notation.ts'
import { read } from '../notation/read.ts'
import type { Written } from '../notation/written.ts'
import { labelOf, readYamlFile } from '../notation/yaml.ts'
import { type PermissionSettings, PermissionsFileSchema, type RoleGrants } from '../schema/permissions.ts'
import type { DecodedSettings } from '../schema/settings.ts'

interface ReadPermissions {
  permissions: PermissionSettings
  /** What is wrong in the file of the permissions. */
  faults: Fault[]
}

/**
 * A lone path is the path of a section, so that a variable of the environment can set what stands beside it and leaves
 * the path as it is.
 */
export function expandPermissions(written: Written): void {
  const path = written.get(['permissions'])
  if (typeof path === 'string') written.set(['permissions', 'path'], path, written.placeOf(['permissions']))
}

/** What the roles grant. A file that the operator did not name may be absent; then roles grant nothing. */
export function readPermissions({ permissions }: DecodedSettings, written: Written, cwd: string): ReadPermissions {
  const unread: PermissionSettings = { roles: {}, source: 'record', remember: 5000 }
  if (written.isFaulty(['permissions'])) return { permissions: unread, faults: [] }
  const { path, ...others } = typeof permissions === 'string' ? { ...unread, path: permissions } : permissions
  const named = [written.get(['permissions', 'path']), written.get(['permissions'])].some(
    value => typeof value === 'string',
  )
  const inner = readYamlFile(path, cwd)
  if (inner === null) {
    if (named) written.report(['permissions'], `no such file: ${labelOf(path, cwd)}; create it, or remove this line`)
    return { permissions: { ...others, roles: {} }, faults: [] }
  }
  if (!inner.legible) return { permissions: unread, faults: inner.faults }
  const { roles } = read(PermissionsFileSchema, inner, cwd) as Decoded<typeof PermissionsFileSchema>
  if (!inner.isUnread(['roles'])) checkRoles(roles, inner)
  return { permissions: { ...others, roles }, faults: inner.faults }
}

function checkRoles(roles: RoleGrants, written: Written): void {
  if (Object.hasOwn(roles, SUPER_ADMIN)) {
    written.report(['roles', SUPER_ADMIN], 'always has every permission; remove this line')
  }
}
