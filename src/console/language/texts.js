import * as account from './account.js'
import * as accounts from './accounts.js'
import * as common from './common.js'
import * as journal from './journal.js'
import * as keys from './keys.js'
import * as sessions from './sessions.js'
import * as signIn from './sign-in.js'

/** All texts, in both languages. Each part of the page has a file. */
export const TEXTS = {
  en: { ...common.en, ...signIn.en, ...sessions.en, ...account.en, ...accounts.en, ...keys.en, ...journal.en },
  zh: { ...common.zh, ...signIn.zh, ...sessions.zh, ...account.zh, ...accounts.zh, ...keys.zh, ...journal.zh },
}
