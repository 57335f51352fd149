import bcrypt from 'bcrypt'
import t, { type Test } from 'tap'
import { addGroup, addPerson, FREE_SUFFIX, type Slapd, startSlapd, unitOf, withoutSlapd } from '../../support/slapd.ts'
import { type StoredAccount, sourceContract } from '../source-contract.ts'
import { openLdap } from './ldap-fixture.ts'

/** The passwords behind the hashes that the contract stores. A directory has no entry with an empty one. */
const KNOWN = ['correct horse', 'battery staple']
const STATUS = { ACTIVE: {}, INACTIVE: { nsAccountLock: 'TRUE' }, LOCKED: { pwdAccountLockedTime: '000001010000Z' } }

t.test('the law of account sources holds for a directory', { skip: withoutSlapd }, async t => {
  const slapd = await startSlapd(t)
  let opened = 0
  const open = async (t: Test, accounts: StoredAccount[]) => {
    // Without a password policy, which would refuse locked accounts before the gateway does.
    const base = await unitOf(slapd, `contract-${opened++}`, FREE_SUFFIX)
    const members = new Map<string, string[]>()
    for (const account of accounts) await addAccount(slapd, base, account, members)
    const roles: Record<string, string> = {}
    for (const [role, names] of members) roles[await addGroup(slapd, base, role, names)] = role
    const attributes = { nickname: 'displayName', permissions: 'right' }
    return openLdap(t, slapd, { base, id: 'employeeNumber', attributes, roles })
  }
  await sourceContract(t, 'slapd', open, { hasServices: false })
})

async function addAccount(
  slapd: Slapd,
  base: string,
  { id, username, password, status, nickname, roles = [], permissions = [] }: StoredAccount,
  members: Map<string, string[]>,
): Promise<void> {
  const known = KNOWN.find(text => password !== null && bcrypt.compareSync(text, password))
  const dn = await addPerson(slapd, base, username, {
    employeeNumber: id,
    userPassword: known ?? [],
    displayName: nickname ?? [],
    right: permissions,
    ...STATUS[status],
  })
  for (const role of roles) members.set(role, [...(members.get(role) ?? []), dn])
}
