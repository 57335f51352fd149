import { createAccount } from './account/account.js'
import { createAccounts } from './accounts/accounts.js'
import { servesAccounts } from './accounts/sides.js'
import { serves } from './api.js'
import { createJournal } from './journal/journal.js'
import { createKeys } from './keys/keys.js'
import { servesKeys } from './keys/sides.js'
import { can } from './session.js'
import { createSessions } from './sessions/sessions.js'

/**
 * @typedef {object} Page
 * @property {() => void} draw Draws all of it: once at the beginning, and after a change of language.
 * @property {(address: import('./address.js').Address) => void} [turn] Shows another content of the same page.
 * @property {() => void} [leave] Stops its timers.
 */

/**
 * @typedef {object} PageKind
 * @property {readonly string[]} addresses The names that an address may have. The first is that of its link.
 * @property {() => boolean} isOffered Whether the gateway serves what the page calls, and the user has permission for it.
 * @property {(place: HTMLElement, address: import('./address.js').Address) => Page} create
 */

/** @satisfies {Record<string, PageKind>} */
export const PAGES = {
  sessions: {
    addresses: ['sessions', 'consumer'],
    isOffered: () => serves('sys/session/page') && can('list'),
    create: createSessions,
  },
  accounts: {
    addresses: ['accounts', 'consumer-accounts'],
    isOffered: () => servesAccounts() && can('listAccounts'),
    create: createAccounts,
  },
  keys: {
    addresses: ['keys', 'consumer-keys'],
    isOffered: () => servesKeys() && can('listKeys'),
    create: createKeys,
  },
  journal: {
    addresses: ['journal'],
    isOffered: () => serves('sys/journal/page') && can('journal'),
    create: createJournal,
  },
  account: { addresses: ['account'], isOffered: () => true, create: createAccount },
}

/** @typedef {keyof typeof PAGES} PageName */

/** The pages of the signed-in user, in the order of the navigation. */
export const offeredPages = () => /** @type {PageName[]} */ (Object.keys(PAGES)).filter(name => PAGES[name].isOffered())
