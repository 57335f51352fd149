import Type from 'typebox'
import { Duration, Path, Variant } from './notation.ts'

/** A segment of a permission: a word without blanks, colons and stars, or a lone `*` or `**`. */
const SEGMENT = '([^\\s:*]+|[*]|[*][*])'

/** `config/permissions.yaml` (design: Session administration): what each role grants. */
export const PermissionsFileSchema = Type.Object(
  {
    roles: Type.Record(
      Type.String(),
      Type.Array(
        Type.String({
          pattern: `^${SEGMENT}(:${SEGMENT})*$`,
          'x-form': 'a permission such as sys:session:page, sys:*:page or sys:**',
        }),
      ),
      { additionalProperties: false, default: {}, description: 'Permissions by role.' },
    ),
  },
  { additionalProperties: false },
)

/** The permissions that each role grants. */
export type RoleGrants = Readonly<Record<string, readonly string[]>>

const ROLES_FILE = 'permissions.yaml'

/** `permissions` of the configuration: the file alone, or with where the rights of users come from. */
export const Permissions = Type.Union(
  [
    Path({ description: 'The file that says what each role grants.' }),
    Variant(
      {
        path: Path({ default: ROLES_FILE, description: 'The file that says what each role grants.' }),
        source: Type.Union([Type.Literal('record'), Type.Literal('accounts')], {
          default: 'record',
          description:
            'record: roles and permissions as they were at login. accounts: as the account has them now, by login id.',
        }),
        remember: Duration('5s', 'With `source: accounts`: how long rights are remembered in each worker process.'),
      },
      'What roles grant, and where the rights of users come from.',
    ),
  ],
  { default: ROLES_FILE, description: 'What each role grants, and where the rights of users come from.' },
)

/** The permissions as the gateway gets them. */
export interface PermissionSettings {
  roles: RoleGrants
  source: 'record' | 'accounts'
  /** Milliseconds for which rights from accounts are remembered. */
  remember: number
}
