import Type from 'typebox'

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
