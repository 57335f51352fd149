import { wrongCodesNotice } from './account/wrong-codes.js'
import { currentAddress, onAddress } from './address.js'
import { CallError, loadSettings, onEnded, sessionInCookie, settings, urlOf } from './api.js'
import { choices } from './choices.js'
import { closeDialogs, holdsTyped, onceKept } from './elements/dialogs.js'
import { h, mark, show } from './elements/dom.js'
import { retryButton, wholePage } from './elements/whole-page.js'
import { faultText, t } from './language/language.js'
import { endSession, requestOwner } from './own-session.js'
import { offeredPages, PAGES } from './pages.js'
import { forget, recall, session } from './session.js'
import { topBar } from './shell.js'
import { credentialsForm } from './sign-in/credentials.js'
import { createSignIn, endedText, resume } from './sign-in/sign-in.js'

const app = /** @type {HTMLElement} */ (document.getElementById('app'))

/** The name of the shown page of a signed-in user; empty before the sign-in. */
let shown = ''
/** Draws what is shown again, after a change of language. */
let redraw = () => {}
/** Shows another content of the present page. */
let turn = (/** @type {import('./address.js').Address} */ _) => {}
/** Stops the timers of the present page. */
let leave = () => {}
/** Goes on from the sign-in if the user has signed in in another tab. */
let lookAgain = async () => {}

/**
 * @param {() => void} draw
 * @param {{ name?: string, turn?: typeof turn | undefined, leave?: (() => void) | undefined,
 *   lookAgain?: typeof lookAgain }} [page]
 */
function open(draw, page = {}) {
  leave()
  closeDialogs()
  shown = page.name ?? ''
  turn = page.turn ?? (() => {})
  leave = page.leave ?? (() => {})
  lookAgain = page.lookAgain ?? (async () => {})
  redraw = draw
  redraw()
}

/**
 * @param {import('./language/language.js').TextName | null} reason
 * @param {boolean} [isUnsaved] Whether what was typed before is lost.
 */
function signIn(reason, isUnsaved = false) {
  if (settings.has_providers) return openSignInPage(isUnsaved)
  const form = createSignIn(app, {
    form: credentialsForm('dualgate console'),
    reason,
    isUnsaved,
    title: () => [mark(), h('div', {}, h('h1', {}, 'dualgate'), h('p', {}, t('sign_in_intro')))],
    choices: () => choices(drawAgain),
    // The page may have been open for long.
    done: () => void enter(loadSettings),
  })
  const draw = () => {
    document.title = title('sign_in')
    form.draw()
  }
  open(draw, { leave: form.leave, lookAgain: form.lookAgain })
}

/** The page with the providers, which leads back to this one. It finds the reason itself. */
function openSignInPage(/** @type {boolean} */ isUnsaved) {
  const to = location.pathname + location.search + location.hash
  open(showLoading)
  onceKept(() =>
    location.replace(urlOf(`/sign-in/b/?${new URLSearchParams({ to, ...(isUnsaved && { unsaved: '1' }) })}`)),
  )
}

/**
 * Requests the own session, and shows the pages that it has permission for.
 *
 * @param {() => Promise<void>} [prepare] What comes before.
 */
async function enter(prepare = async () => {}) {
  showLoading()
  try {
    await prepare()
    session.owner = await requestOwner()
    route()
  } catch (problem) {
    // An ended session has already led to the sign-in.
    if (session.handle === null) return
    const isRefused = problem instanceof CallError && problem.code === 403
    open(() => showFault(faultText(problem), () => enter(prepare), isRefused && anotherUser()))
  }
}

/** Of a session that is refused, such as that of a disabled account: another user may sign in. */
const anotherUser = () =>
  h('button', { type: 'button', 'data-key': 'another-user', onclick: signInAnother }, t('sign_in'))

function signInAnother() {
  forget()
  signIn(null)
}

const showLoading = () => show(app, h('p', { class: 'whole-page quiet' }, t('loading')))

/** Shows the page of the address, or the first page if the address has none that the user has permission for. */
function route() {
  const offered = offeredPages()
  if (session.owner === null) return
  const address = currentAddress()
  const asked = offered.find(name => PAGES[name].addresses.includes(address.name))
  // The own account needs no permission.
  const name = asked ?? offered[0] ?? 'account'
  if (asked === undefined && address.name !== '') history.replaceState(null, '', ' ')
  if (name === shown) {
    closeDialogs()
    turn(address)
    return showTop(name)
  }
  openOffered(name, address)
}

/**
 * @param {import('./pages.js').PageName} name
 * @param {import('./address.js').Address} address
 */
function openOffered(name, address) {
  const place = h('main', { class: `page ${name}` })
  const page = PAGES[name].create(place, address)
  const draw = () => {
    document.title = title(name)
    show(app, top, wrongCodesNotice(name), place)
    showTop(name)
    page.draw()
  }
  open(draw, { name, turn: page.turn, leave: page.leave })
  window.scrollTo(0, 0)
}

const top = h('div', { class: 'top-place' })

const showTop = (/** @type {import('./pages.js').PageName} */ name) =>
  show(top, topBar({ shown: name, pages: offeredPages(), redraw: drawAgain, signOut }))

async function signOut() {
  if (settings.has_providers) return openSignOut()
  const ended = endSession()
  const left = { ...session }
  // What is answered to the page meanwhile is about a session that it no longer has.
  forget()
  open(showLoading)
  try {
    await ended
  } catch (problem) {
    // A cookie that keeps the session is still there; of two the gateway has ended none.
    const isEnded = problem instanceof CallError && problem.code === 401 && problem.data?.cookie === undefined
    if (!isEnded) return signOutAgain(problem, left)
  }
  signIn('signed_out')
}

/**
 * @param {unknown} problem Why the gateway has not confirmed a sign-out.
 * @param {typeof session} left The session.
 */
function signOutAgain(problem, left) {
  const again = () => {
    Object.assign(session, left)
    void signOut()
  }
  open(() => showFault(`${faultText(problem)} ${t('not_signed_out')}`, again))
}

/**
 * As a form, which leads on to the provider of the session. The page has ended before: a call that is refused meanwhile would lead
 * elsewhere, and the session at the provider would stay.
 */
function openSignOut() {
  forget()
  open(showLoading)
  const form = h('form', { method: 'post', action: urlOf('/sign-out/b'), hidden: true })
  document.body.append(form)
  form.submit()
}

/**
 * @param {string} text
 * @param {() => void} again
 * @param {import('./elements/dom.js').Child} beside What else its user can do.
 */
const showFault = (text, again, beside = false) => show(app, wholePage(text, retryButton(again), beside))

const drawAgain = () => redraw()

/** @param {import('./language/language.js').TextName} page */
const title = page => `dualgate · ${t(page)}`

async function start() {
  try {
    await loadSettings()
    let reason = null
    if (settings.keeps_cookie) reason = await resume()
    else recall()
    if (session.handle === null) signIn(reason)
    else await enter()
  } catch (problem) {
    open(() => showFault(faultText(problem), start))
  }
}

/** In another tab the user may have signed in to another account: then the cookie, and every answer, belongs to that account. */
async function compareSession() {
  const { handle } = session
  if (document.hidden || !settings?.keeps_cookie) return
  if (handle === null) return lookAgain()
  const live = await sessionInCookie().catch(() => null)
  if (live === null || live.handle === handle || session.handle !== handle) return
  if (!holdsTyped()) return onceKept(() => location.reload())
  // Its user has to read this: the next look at the session does not reload.
  forget()
  open(() => showFault(`${t('other_account')} ${t('unsaved')}`, () => location.reload()))
}

// A page that the browser has kept for the way back shows a session that may have ended since.
window.addEventListener('pagehide', event => event.persisted && open(showLoading))
window.addEventListener('pageshow', event => event.persisted && onceKept(() => location.reload()))
onEnded(reason => signIn(endedText(reason), holdsTyped()))
onAddress(route)
document.addEventListener('visibilitychange', () => void compareSession())
// Of two windows side by side, both are visible.
window.addEventListener('focus', () => void compareSession())
void start()
