import { createHash, timingSafeEqual } from 'node:crypto'
import bcrypt from 'bcrypt'
import t from 'tap'
import type { Account, Accounts } from '../../src/account/source.ts'
import { type StoredAccount, sourceContract } from './source-contract.ts'

/*
 * A source that verifies passwords itself, as a directory does by binding: the gateway never sees a hash. It shows that the
 * contract of accounts has room for one.
 */

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The passwords behind the hashes that the contract stores: what a directory would hold. */
const KNOWN = ['correct horse', 'battery staple', '']

/** A server with entries, each of which is bound by its name and its password. An empty password binds anonymously. */
function createDirectory(accounts: readonly StoredAccount[]) {
  const passwords = new Map(
    accounts.flatMap(({ id, password }) =>
      // An entry of a program has none.
      password === null ? [] : [[id, digestOf(KNOWN.find(known => bcrypt.compareSync(known, password))!)]],
    ),
  )
  return {
    search: (username: string) => accounts.find(account => account.username === username) ?? null,
    read: (id: string) => accounts.find(account => account.id === id) ?? null,
    /** As RFC 4513 5.1.2 has it: a bind without a password succeeds, and proves nothing. */
    bind(id: string, password: string): boolean {
      if (password === '') return true
      return timingSafeEqual(passwords.get(id) ?? digestOf('no entry'), digestOf(password))
    },
  }
}

function createDirectoryAccounts(directory: ReturnType<typeof createDirectory>): Accounts {
  return {
    async find(username) {
      const entry = directory.search(username)
      if (entry === null) return null
      const { id, status, service, nickname = username, roles = [], permissions = [] } = entry
      const extra = { nickname, roles, permissions }
      return { id, username, status, extra, ...(service === true && { service }) } satisfies Account
    },
    async verify(account, password) {
      // Binds in any case, so that an unknown name takes the time of a known one.
      const isBound = directory.bind(account?.id ?? '', password || 'no password')
      return isBound && account !== null && password !== null && password !== ''
    },
    async findRights(id) {
      const entry = directory.read(id)
      if (entry === null || entry.status !== 'ACTIVE') return null
      return { roles: entry.roles ?? [], permissions: entry.permissions ?? [] }
    },
    async close() {},
  }
}

sourceContract(t, 'directory', async (_, accounts) => createDirectoryAccounts(createDirectory(accounts)))
