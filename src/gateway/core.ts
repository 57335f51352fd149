import { setTimeout as pause } from 'node:timers/promises'
import { publishAccounts } from '../account/metrics.ts'
import { openAccounts } from '../account/open.ts'
import { createPermissions } from '../account/permissions.ts'
import { createAccountRights } from '../account/rights.ts'
import { within } from '../base/deadline.ts'
import type { Logger } from '../base/log/log.ts'
import { createTimestampFormat, type TimestampFormat } from '../base/timestamp.ts'
import { type Publish, publishTo, withoutUnchecked, withoutWorthless } from '../event/event.ts'
import { countEvents } from '../event/metrics.ts'
import { createWebhooks } from '../event/webhooks.ts'
import { createSigner } from '../http/jwt.ts'
import { createJournalPages, type JournalPages } from '../journal/page.ts'
import { Recorder } from '../journal/recorder.ts'
import type { OpenLoginOptions } from '../login/login-options.ts'
import { type Logins, openLogin } from '../login/open.ts'
import { withoutUnknownNames } from '../login/protection/lockout.ts'
import { bySide, bySideName, type LoginType } from '../session/sides.ts'
import type { Settings } from '../settings/schema/settings.ts'
import { accountsOf, providersOf, watchesSessions } from '../settings/served.ts'
import { policyOf } from '../settings/session-policy.ts'
import { offerOperations } from '../side/operations.ts'
import { createSide, type Session, type Side, type SideOptions } from '../side/side.ts'
import { measureStore } from '../store/measured-store.ts'
import { publishStore } from '../store/metrics.ts'
import { openStore } from '../store/open.ts'
import type { Store } from '../store/store.ts'
import { createJwt } from '../token/jwt.ts'
import { createAccountAdministrations } from './account-administrations.ts'
import { JOURNAL_LIMIT, WEBHOOK_LIMIT } from './close-limits.ts'
import {
  createExplainedSides,
  createGateSides,
  createKeysOfSides,
  createStoredKeys,
  type KeyParts,
} from './keys-of-sides.ts'
import type { Setup } from './setup.ts'

/** Between two questions whether the store answers, in milliseconds. */
const PING_PAUSE = 50

export type Sessions = Awaited<ReturnType<typeof openSessions>>

/** Opens the store, and over it both sides, the logins of users and their permissions. */
export async function openSessions(setup: Setup) {
  const { settings, profile, clock, log, meter } = setup
  const timestamps = createTimestampFormat(settings.timezone)
  const jwt = createJwt(await createSigner(settings.jwt), settings.jwt.algorithm, clock)
  const store = await openStoreOf(setup, timestamps)
  publishStore(meter, store)
  const measured = measureStore(store, meter)
  const webhooks = await createWebhooks(settings.events.webhooks, clock, log)
  const journal = createJournal(setup, store, timestamps)
  const keep = withoutUnchecked(publishTo(withoutWorthless(webhooks.publish), ...journal.sinks))
  const publish = withoutUnknownNames(publishTo(logTo(log), countEvents(meter), keep))
  // A session may be used only when the logins are open.
  const opened: { rechecks: Logins['rechecks'] | null } = { rechecks: null }
  const sides = createSides(
    setup,
    {
      jwt,
      store: measured.sessions,
      attempts: store.attempts,
      clock,
      timestamps,
      publish,
      isReplicated: store.isReplicated,
    },
    (type, session) => opened.rechecks?.[type]?.used(session),
  )
  const stored = createStoredKeys(setup, { ...measured, attempts: store.attempts }, publish)
  const login = await openLogins(setup, store, sides, stored, { jwt, publish })
  publishAccounts(meter, login.sources)
  opened.rechecks = login.rechecks
  const permissions = createSessionPermissions(setup, login)
  const parts = { store, login, permissions, timestamps }
  return {
    store,
    jwt,
    timestamps,
    sides,
    ...openKeys(setup, sides, { ...parts, store: measured, stored, jwt }),
    journal: journal.pages,
    logins: login.logins,
    providerLogins: login.providerLogins,
    ownAccounts: login.ownAccounts,
    ownSecondFactors: login.ownSecondFactors,
    permissions,
    accountAdministrations: createAccountAdministrations(setup, { ...parts, sides, keys: stored, publish }),
    accountWarnings: (): string[] => accountWarnings(login),
    /** The operations of each side, for a program that embeds the gateway. */
    operations: bySideName(type => offerOperations(sides[type], profile)),
    reachStore: (limit: number): Promise<boolean> => reachStore(store, limit),
    async close(): Promise<void> {
      await login.close()
      await Promise.all([webhooks.close(WEBHOOK_LIMIT), journal.close()])
      await store.close()
    },
  }
}

/** The keys of each side, and by what the gate finds sessions by tokens and by keys. */
function openKeys(setup: Setup, sides: Readonly<Record<LoginType, Side>>, parts: Omit<KeyParts, 'recheckOf'>) {
  const keys = createKeysOfSides(setup, { ...parts, recheckOf: type => recheckOf(setup.settings, type) })
  return {
    keys,
    gateSides: createGateSides(sides, keys, parts.jwt),
    /** The same for an explanation: sessions do not count as used. */
    explainedSides: createExplainedSides(sides, keys, parts.jwt),
  }
}

/** Asks the store until it answers; a connection may still be on its way. */
async function reachStore(store: Store, limit: number): Promise<boolean> {
  let isOver = false
  const answers = async (): Promise<boolean> => {
    while (!isOver) {
      const isAnswered = await store.ping().then(
        () => true,
        () => false,
      )
      if (isAnswered) return true
      await pause(PING_PAUSE)
    }
    return false
  }
  try {
    return await within(limit, answers(), () => false)
  } finally {
    isOver = true
  }
}

function openStoreOf({ settings, options, clock, log }: Setup, timestamps: TimestampFormat): Promise<Store> {
  return openStore(settings.store, settings.data, clock, log, settings.session_cache, watchesSessions(settings), {
    timestamps,
    sharing: options.sharing,
    captchaKey: settings.login.captcha.key,
  })
}

/** The journal, if there is one: where events go, and what administrators read. */
function createJournal({ settings, clock, log, meter }: Setup, { journal: store }: Store, timestamps: TimestampFormat) {
  const sinks: Publish[] = []
  if (settings.journal === 'off') return { sinks, pages: null, close: async () => undefined }
  const recorder = new Recorder({ store, settings: settings.journal, clock, log, meter })
  const pages: JournalPages = createJournalPages({ store, recorder, timestamps })
  return { sinks: [recorder.publish], pages, close: () => recorder.close(JOURNAL_LIMIT) }
}

/** Logs events. A change that replicas may have missed is a warning. */
const logTo =
  (log: Logger): Publish =>
  event =>
    log[event.replicated === false ? 'warn' : 'info'](event, 'event')

/** Both sides, with the same parts. An operation of one side never changes the other. */
function createSides(
  { settings }: Setup,
  parts: Pick<SideOptions, 'jwt' | 'store' | 'attempts' | 'clock' | 'timestamps' | 'publish' | 'isReplicated'>,
  used: (type: LoginType, session: Session) => void,
): Readonly<Record<LoginType, Side>> {
  const { jwt, disable, sessions } = settings
  const shared = {
    ...parts,
    expireSeconds: jwt.expire_seconds,
    tokenName: jwt.token_name,
    enforceDisable: disable.enforce === 'request',
    tellEnd: sessions.tell_end,
  }
  return bySide(type =>
    createSide({
      ...shared,
      type,
      policy: policyOf(sessions, type),
      // Requests of a side whose source is not asked again do nothing for it.
      used: recheckOf(settings, type) === 'off' ? undefined : session => used(type, session),
    }),
  )
}

function recheckOf(settings: Settings, type: LoginType): number | 'off' {
  const source = accountsOf(settings, type)
  return source === 'off' || source.kind === 'file' ? 'off' : source.recheck
}

function openLogins(
  { settings, options: { helpers, isSuccessor }, clock, log, meter }: Setup,
  store: Store,
  sides: Readonly<Record<LoginType, Side>>,
  keys: OpenLoginOptions['keys'],
  { jwt, publish }: Pick<OpenLoginOptions, 'jwt' | 'publish'>,
): Promise<Logins> {
  return openLogin({
    settings: settings.login,
    passwords: settings.passwords,
    store,
    sides,
    clock,
    log,
    publish,
    timestamps: createTimestampFormat(settings.timezone),
    helpers,
    openAccounts: options => {
      const source = accountsOf(settings, options.type)
      if (source === 'off') return null
      // A first start has created the file of the B side; consumers may have none.
      const wasThere = isSuccessor === true && options.type === 'BUSINESS'
      return openAccounts(source.kind === 'file' ? { ...source, wasThere } : source, options)
    },
    jwt,
    providersOf: type => providersOf(settings, type),
    url: settings.browser.url,
    recheckOf: type => recheckOf(settings, type),
    keys,
    meter,
  })
}

function createSessionPermissions({ settings, clock }: Setup, { sources }: Logins) {
  const { roles, source, remember } = settings.permissions
  return createPermissions(roles, source === 'accounts' ? createAccountRights({ sources, clock, remember }) : undefined)
}

/** What operators should know of the account sources. */
const accountWarnings = ({ sources }: Logins): string[] =>
  Object.values(sources).flatMap(source => {
    const fault = source?.updates?.fault?.() ?? null
    return [...(source?.changes?.warnings() ?? []), ...(fault === null ? [] : [fault.message])]
  })
