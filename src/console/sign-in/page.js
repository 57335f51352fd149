import { loadSettings, settings } from '../api.js'
import { choices } from '../choices.js'
import { h, mark, show } from '../elements/dom.js'
import { retryButton, wholePage } from '../elements/whole-page.js'
import { faultText, t } from '../language/language.js'
import { session } from '../session.js'
import { destinationOf, withFragment } from './destination.js'
import { failureText, providerButtons, takeArrival } from './providers.js'
import { createSignIn, resume } from './sign-in.js'

/* The sign-in of a side: who is signed in already, or has signed in here, goes on to the requested address. */

const app = /** @type {HTMLElement} */ (document.getElementById('app'))
const arrival = takeArrival()
const asked = new URLSearchParams(location.search)

/** @typedef {import('../api.js').Settings & { title: string, has_logo: boolean, signs_in: boolean, home: string, origins: string[] }} PageSettings */

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
    const form = signIn(asked.has('signed-out') ? 'signed_out' : arrival.signedIn ? 'cookie_not_kept' : reason)
    if (arrival.step !== null) await form.openStepOf(arrival.step)
  } catch (problem) {
    open(() => message(faultText(problem), retryButton(start)))
  }
}

/** Whether the sign-in is shown. */
let isWaiting = false

/** @param {import('../language/language.js').TextName | null} reason */
function signIn(reason) {
  isWaiting = true
  const form = createSignIn(app, {
    reason,
    title: () => [brand(), h('div', {}, h('h1', {}, own().title), h('p', {}, t('sign_in_to_continue')))],
    fault: arrival.failed === null ? null : () => failureText(arrival.failed ?? ''),
    providers: () => providerButtons(() => (asked.get('to') ?? '') + location.hash),
    device: 'dualgate sign-in',
    choices: () => choices(() => redraw()),
    done: goOn,
  })
  open(form.draw)
  return form
}

/** The user may have signed in in another tab meanwhile. */
async function lookAgain() {
  if (document.hidden || session.handle !== null || !isWaiting) return
  await resume().catch(() => null)
  if (session.handle !== null) goOn()
}

function goOn() {
  const { origins, home } = own()
  const to = destinationOf(asked.get('to'), { own: location.origin, origins, home })
  location.replace(withFragment(to, location.hash))
}

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
void start()
