import type { MaybePromise } from '../base/maybe-promise.ts'
import { notPermitted } from '../base/refusal.ts'
import { type Extra, type SessionRecord, SUPER_ADMIN, textsOf } from '../session/record.ts'
import type { LoginType } from '../session/sides.ts'
import type { Account, Rights } from './source.ts'

/** All of the required permissions, or at least one of them. */
export type PermissionMode = 'all' | 'any'

interface Required {
  readonly codes: readonly string[]
  readonly mode: PermissionMode
}

/** A user, and the rights that were read with the user. */
export type RightsHolder = Pick<SessionRecord, 'user_id' | 'type' | 'extra'>

/**
 * What a session may do (design: Session administration). A permission is a code of segments, `sys:session:page`. It is
 * granted to a session by name or by a pattern: `*` stands for one segment, `**` for any number of them, none included;
 * alone, either stands for everything. Grants are the texts in `extra.permissions` and the grants of the roles in
 * `extra.roles`; other values there grant nothing.
 */
export interface Permissions {
  /** The record whose `extra` tells the rights of a session: its own, or one with those of the account. */
  holderOf<H extends RightsHolder>(record: H): MaybePromise<H>
  /** The rights of an account, by the same rule as those of a session of its user. */
  rightsOf(account: Pick<Account, 'id' | 'extra'>, type: LoginType): Promise<Rights>
  /** Whether the session has the required permissions. An empty requirement allows nothing. */
  allows(record: SessionRecord, required: readonly string[], mode: PermissionMode): boolean
  /**
   * Refuses with NOT_PERMITTED a session that lacks what is required, and names the codes that are missing. Throws at
   * once where the rights are known; returns a promise only where they have to be read first.
   */
  require(record: SessionRecord, required: Required): Promise<void> | undefined
  /** The same for a record whose `extra` has the rights that count. */
  check(holder: SessionRecord, required: Required): void
  /**
   * Those of the rights that a holder of other rights does not hold, and so must not grant: roles that it does not have,
   * and permissions that none of its grants covers as a whole. `orders:*` covers `orders:read` and `*:read` does not cover
   * `orders:*`. In doubt a pattern is not covered: two grants that cover it only together do not, and neither does one that
   * has its wildcards in another place.
   */
  lacking(holder: Rights, rights: Rights): string[]
  /** The permissions and patterns of some rights, with those of their roles; each once. */
  granted(rights: Rights): string[]
  /** The roles that grant something. */
  readonly roles: readonly Role[]
}

/** A role, and what it grants. */
export interface Role {
  readonly name: string
  readonly permissions: readonly string[]
}

/** The role with every permission, and those of the permissions file in its order. */
export const rolesOf = (grants: Readonly<Record<string, readonly string[]>>): readonly Role[] => [
  { name: SUPER_ADMIN, permissions: ['**'] },
  ...Object.entries(grants).map(([name, permissions]) => ({ name, permissions })),
]

/**
 * `roles` are the permissions that each role grants; a session's own record has the rights, unless `holderOf` supplies
 * them.
 */
export function createPermissions(
  roles: Readonly<Record<string, readonly string[]>>,
  holderOf: Permissions['holderOf'] = record => record,
): Permissions {
  const grantsOfRole = new Map(Object.entries(roles).map(([role, grants]) => [role, grants.map(segmentsOf)]))

  const grantsOf = ({ roles, permissions }: Rights): (readonly string[])[] => [
    ...permissions.map(segmentsOf),
    ...roles.flatMap(role => grantsOfRole.get(role) ?? []),
  ]

  const allows: Permissions['allows'] = ({ extra }, required, mode) => {
    if (required.length === 0) return false
    const held = rightsIn(extra)
    if (held.roles.includes(SUPER_ADMIN)) return true
    const grants = grantsOf(held)
    const isGranted = (code: string): boolean => {
      const segments = segmentsOf(code)
      return grants.some(pattern => covers(pattern, segments))
    }
    return mode === 'all' ? required.every(isGranted) : required.some(isGranted)
  }

  function check(holder: SessionRecord, { codes, mode }: Required): void {
    if (allows(holder, codes, mode)) return
    throw notPermitted(codes.filter(code => !allows(holder, [code], 'all')))
  }

  const known = rolesOf(roles)
  return {
    roles: known,
    holderOf,
    rightsOf: async ({ id, extra }, type) => rightsIn((await holderOf({ user_id: id, type, extra })).extra),
    allows,
    check,
    require(record, required) {
      const holder = holderOf(record)
      if (holder instanceof Promise) return holder.then(found => check(found, required))
      check(holder, required)
      return undefined
    },
    lacking(holder, { roles, permissions }) {
      if (holder.roles.includes(SUPER_ADMIN)) return []
      const grants = grantsOf(holder).map(comparable)
      return [
        ...roles.filter(role => !holder.roles.includes(role)),
        ...permissions.filter(code => {
          const pattern = comparable(segmentsOf(code))
          return !grants.some(grant => covers(grant, pattern))
        }),
      ]
    },
    granted: held => [
      ...new Set([
        ...known.flatMap(({ name, permissions }) => (held.roles.includes(name) ? permissions : [])),
        ...held.permissions,
      ]),
    ],
  }
}

/** The rights in the data of a session. */
export const rightsIn = (extra: Extra): Rights => ({
  roles: textsOf(extra, 'roles'),
  permissions: textsOf(extra, 'permissions'),
})

/** Whether one of some grants covers a permission code. */
export function createGrants(grants: readonly string[]): (code: string) => boolean {
  const patterns = grants.map(segmentsOf)
  return code => {
    const segments = segmentsOf(code)
    return patterns.some(pattern => covers(pattern, segments))
  }
}

/** The roles of an account that grant nothing: they are for backends, or mistyped. */
export const unknownRoles = (roles: readonly string[], known: readonly Role[]): string[] =>
  roles.filter(role => !known.some(({ name }) => name === role))

const segmentsOf = (text: string): readonly string[] => text.split(':')

/** A pattern in the one form in which patterns are compared: `*` alone is `**`, and `**` stands behind the `*` beside it. */
function comparable(pattern: readonly string[]): readonly string[] {
  if (pattern.length === 1 && pattern[0] === '*') return ['**']
  const ordered: string[] = []
  for (const segment of pattern) {
    if (ordered.at(-1) !== '**' || (segment !== '*' && segment !== '**')) ordered.push(segment)
    else if (segment === '*') ordered.splice(-1, 0, '*')
  }
  return ordered
}

/**
 * Whether a pattern covers a code, or every code of another pattern. The steps are bounded by the product of their lengths: after
 * a mismatch only the last `**` is extended by one segment.
 */
function covers(pattern: readonly string[], code: readonly string[]): boolean {
  if (pattern.length === 1 && pattern[0] === '*') return true
  let at = 0
  let retryPattern = -1
  let retryCode = 0
  for (let i = 0; i < code.length; ) {
    if (pattern[at] === '**') {
      at += 1
      retryPattern = at
      retryCode = i
    } else if ((pattern[at] === '*' && code[i] !== '**') || (at < pattern.length && pattern[at] === code[i])) {
      at += 1
      i += 1
    } else if (retryPattern >= 0) {
      at = retryPattern
      retryCode += 1
      i = retryCode
    } else {
      return false
    }
  }
  while (pattern[at] === '**') at += 1
  return at === pattern.length
}
