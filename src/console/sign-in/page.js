import { CallError, loadSettings, settings, takeStep } from '../api.js'
import { choices } from '../choices.js'
import { h, mark, show } from '../elements/dom.js'
import { retryButton, wholePage } from '../elements/whole-page.js'
import { faultText, t } from '../language/language.js'
import { session } from '../session.js'
import { arrivalIn, failedText, shownWord, withoutArrival } from './arrival.js'
import { credentialsForm } from './credentials.js'
import { destinationOf, withFragment } from './destination.js'
import { takeFragment } from './kept-fragment.js'
import { orByProvider, providersAlone } from './providers.js'
import { createSignIn, resume } from './sign-in.js'

/* The sign-in of a side: who is signed in already, or has signed in here, goes on to the requested address. */

const app = /** @type {HTMLElement} */ (document.getElementById('app'))
const asked = new URLSearchParams(location.search)
const arrival = arrivalIn(asked)
if (arrival.kind !== 'none') history.replaceState(null, '', withoutArrival(asked) + takeFragment(asked.get('to')))

/**
 * @typedef {import('../api.js').Settings & { title: string, has_logo: boolean, signs_in: boolean, password: boolean,
 *   providers: import('./providers.js').Provider[], home: string, origins: string[] }} PageSettings
 */

const own = () => /** @type {PageSettings} */ (settings)

/** Draws what is shown again, after a change of language. */
let redraw = () => {}

/** @param {() => void} draw */
function open(draw) {
  redraw = draw
  redraw()
}

async function start() {
  try {
    await loadSettings('../..')
    document.title = own().title
    const reason = await resume()
    if (session.handle !== null) return goOn()
    if (!own().signs_in) return open(() => message(t('signs_in_elsewhere')))
    signIn(await openingAfter(reason))
  } catch (problem) {
    open(() => message(faultText(problem), retryButton(start)))
  }
}

/** Goes on if the user has signed in in another tab while the sign-in is shown. */
let lookAgain = async () => {}

/** @typedef {Pick<import('./sign-in.js').SignInOptions, 'reason' | 'word' | 'isUnsaved' | 'step'>} Opening */

/**
 * How the sign-in begins without a live session.
 *
 * @param {import('../language/language.js').TextName | null} ended Why the last session has ended.
 * @returns {Promise<Opening>}
 */
async function openingAfter(ended) {
  if (arrival.kind === 'arrived') return { reason: ended ?? 'cookie_not_kept' }
  if (arrival.kind === 'failed') return { reason: failedText(arrival.word), word: shownWord(arrival.word) }
  if (arrival.kind === 'step') return openingWithStep(arrival.name)
  return { reason: asked.has('signed-out') ? 'signed_out' : ended, isUnsaved: asked.has('unsaved') }
}

/**
 * The gateway answers each step once, and for a minute.
 *
 * @param {string} name
 * @returns {Promise<Opening>}
 */
async function openingWithStep(name) {
  try {
    return { reason: null, step: await takeStep(name) }
  } catch (problem) {
    // The step may still be there.
    if (!(problem instanceof CallError) || problem.isTemporary) throw problem
    return { reason: 'step_expired' }
  }
}

/** @param {Opening} opening */
function signIn(opening) {
  const form = createSignIn(app, {
    ...opening,
    form: own().password
      ? credentialsForm('dualgate sign-in', () => orByProvider(own().providers, wanted()))
      : providersAlone(own().providers, wanted()),
    title: () => [brand(), h('div', {}, h('h1', {}, own().title), h('p', {}, t('sign_in_to_continue')))],
    choices: () => choices(() => redraw()),
    done: goOn,
  })
  lookAgain = form.lookAgain
  open(form.draw)
}

/** Where the user wants to go. */
function wanted() {
  const { origins, home } = own()
  return withFragment(destinationOf(asked.get('to'), { own: location.origin, origins, home }), location.hash)
}

const goOn = () => location.replace(wanted())

const brand = () => (own().has_logo ? h('img', { class: 'mark', src: '../logo', alt: '' }) : mark())

/**
 * @param {string} text
 * @param {Node} [beside]
 */
const message = (text, beside) =>
  show(
    app,
    wholePage(
      text,
      beside,
      choices(() => redraw()),
    ),
  )

document.addEventListener('visibilitychange', () => void lookAgain())
// Of two windows side by side, both are visible.
window.addEventListener('focus', () => void lookAgain())
// The browser shows the page as it was left, after the way back from where it led.
window.addEventListener('pageshow', event => event.persisted && void lookAgain())
void start()
