import { LongDuration, Path, Variant } from '../notation/notation.ts'

/** A segment of a permission: a word without blanks, colons and stars, or a lone `*` or `**`. */
const SEGMENT = '([^\\s:*]+|[*]|[*][*])'

/** `config/permissions.yaml` (design: Session administration): what each role grants. */
export const PermissionsFileSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    roles: {
      type: 'object',
      additionalProperties: {
        type: 'array',
        items: {
          type: 'string',
          pattern: `^${SEGMENT}(:${SEGMENT})*$`,
          'x-form': 'a permission such as sys:session:page, sys:*:page or sys:**',
        },
      },
      default: {},
      description: 'Permissions by role.',
    },
  },
} as const

/** The permissions that each role grants. */
export type RoleGrants = Readonly<Record<string, readonly string[]>>

const ROLES_FILE = Path({ default: 'permissions.yaml', description: 'The file with the permissions of each role.' })

/** `permissions` of the configuration: the file alone, or with where the rights of users come from. */
export const Permissions = {
  anyOf: [
    ROLES_FILE,
    Variant(
      {
        path: ROLES_FILE,
        source: {
          enum: ['record', 'accounts'],
          default: 'record',
          description:
            'record: roles and permissions as they were at login. accounts: as the account has them now, by login id.',
        },
        remember: LongDuration('5s', 'With `source: accounts`: how long each worker process remembers rights.'),
      },
      'What roles grant, and where the rights of users come from.',
    ),
  ],
  default: ROLES_FILE.default,
  description: 'What each role grants, and where the rights of users come from.',
} as const

/** The permissions as the gateway gets them. */
export interface PermissionSettings {
  roles: RoleGrants
  source: 'record' | 'accounts'
  /** Milliseconds for which rights from accounts are remembered. */
  remember: number
}
