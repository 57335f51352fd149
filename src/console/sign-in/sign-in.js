import { CallError, postRepeatable, publicRoute, sessionInCookie, settings } from '../api.js'
import { h, show } from '../elements/dom.js'
import { focusFirst } from '../elements/forms.js'
import { TEXTS } from '../language/texts.js'
import { begin, beginInCookie, session } from '../session.js'
import { codesStep, STEPS } from './steps.js'

/**
 * @typedef {object} Progress What a step of a login needs to know.
 * @property {string} ticket
 * @property {string} username Empty if a provider has proven the user.
 * @property {string} password What was typed at the sign-in.
 * @property {(route: string, body: object, by?: typeof postRepeatable) => Promise<void>} send Sends the answer of the step, and
 *   shows what comes next. `by`: how it is sent.
 * @property {() => void} restart
 */

/** @typedef {import('../language/language.js').TextName} TextName */

/** @typedef {{ ticket: string, required: keyof typeof STEPS, expires_in: number }} Step What a login needs next. */

/**
 * @typedef {object} Opening What the first form of a sign-in needs.
 * @property {{ username: string, password: string }} typed Where it keeps what was typed.
 * @property {{ problem: unknown }} failure Where it keeps why the last attempt has failed, for a change of language; `null` before.
 * @property {TextName | null} reason Shows the user why a new sign-in is necessary.
 * @property {string | null} word The same in a word, for the administrator whom the user asks.
 * @property {boolean} [isUnsaved] Whether the last session has ended before what was typed in a dialog was saved.
 * @property {() => import('../elements/dom.js').Child[]} title
 * @property {(route: string, body: object) => Promise<void>} send
 */

/**
 * @typedef {object} SignInOptions
 * @property {(opening: Opening) => Node} form Draws the first form.
 * @property {TextName | null} reason
 * @property {string | null} [word]
 * @property {boolean} [isUnsaved]
 * @property {Step | null} [step] A step to begin with: a provider has proven the user.
 * @property {Opening['title']} title
 * @property {() => Node} choices Language and theme.
 * @property {() => void} done
 */

/**
 * What the sign-in says about a session that has ended.
 *
 * @param {import('../api.js').EndReason} [reason] As the gateway names it; a later version may have others.
 * @returns {TextName}
 */
export function endedText(reason) {
  const name = /** @type {const} */ (`because_${reason}`)
  return name in TEXTS.en ? /** @type {TextName} */ (name) : 'ended'
}

/**
 * The sign-in: its first form, such as name, password and captcha, and then the steps that the gateway requires.
 *
 * @param {Element} place
 * @param {SignInOptions} options
 */
export function createSignIn(place, { form, step = null, title, choices, done, ...why }) {
  const typed = { username: '', password: '' }
  const failure = { problem: null }
  let timer = 0
  const waiting = createWaiting(done)
  /** @param {Pick<SignInOptions, 'reason' | 'word' | 'isUnsaved'>} why */
  const first = why => () => form({ typed, failure, title, send, word: null, ...why })
  let drawForm = step === null ? first(why) : drawStep(step)

  /** @param {() => Node} form */
  function open(form) {
    waiting.begin()
    drawForm = form
    draw()
  }

  function draw() {
    show(place, h('main', { class: 'sign-in-page' }, drawForm(), h('div', { class: 'sign-in-choices' }, choices())))
    focusForm(place)
  }

  /** @param {TextName | null} why */
  function restart(why) {
    clearTimeout(timer)
    Object.assign(typed, { password: '' })
    failure.problem = null
    open(first({ reason: why }))
  }

  /** Continues with what the gateway answers: the next step, or the token. Recovery codes are shown before it. */
  async function send(/** @type {string} */ route, /** @type {object} */ body, by = postRepeatable) {
    await waiting.stopWhile(async () => {
      const answer = await answerOf(by(publicRoute(route), kept(body)))
      clearTimeout(timer)
      const next = () => (answer.ticket === undefined ? finish(answer) : open(drawStep(answer)))
      if (answer.recovery_codes === undefined) return next()
      open(() => codesStep(answer.recovery_codes, typed.username, next))
      waiting.stop()
    })
  }

  /** @param {{ token?: string, wrong_codes?: number }} signedIn Without a token if a cookie keeps it, as far as the browser does. */
  async function finish({ token, wrong_codes }) {
    if (token !== undefined) begin(token, wrong_codes)
    else {
      const reason = await resume(wrong_codes)
      if (session.handle === null) return restart(reason ?? 'cookie_not_kept')
    }
    done()
  }

  /** @param {Step} step */
  function drawStep({ ticket, required, expires_in }) {
    const step = stepNamed(required)
    timer = window.setTimeout(() => restart('step_expired'), expires_in * 1000)
    return step({ ticket, ...typed, send, restart: () => restart(null) })
  }

  return { draw, leave: () => clearTimeout(timer), lookAgain: waiting.lookAgain }
}

/**
 * What a login sends, with how its session is kept.
 *
 * @param {object} body
 */
const kept = body => (settings.keeps_cookie ? { ...body, session: 'cookie' } : body)

/** @param {Step['required']} name */
function stepNamed(name) {
  // A gateway that has been updated since may require what this page does not know.
  if (!Object.hasOwn(STEPS, name)) throw new CallError(404, '', null, 'outdated')
  return STEPS[name]
}

/**
 * After a change of language the focus is on its button again, and stays there.
 *
 * @param {Element} place
 */
function focusForm(place) {
  if (!place.contains(document.activeElement)) focusFirst(place)
}

/**
 * The wait of a sign-in for its user. It ends, too, when the user has signed in in another tab: the cookie is that of all tabs. A login
 * that goes on here does not wait, nor do its recovery codes: there is no other time to keep them.
 *
 * @param {() => void} done
 */
function createWaiting(done) {
  let isWaiting = true
  let isLooking = false
  return {
    begin() {
      isWaiting = true
    },
    stop() {
      isWaiting = false
    },
    /** @param {() => unknown} login If it throws, the wait begins again. */
    async stopWhile(login) {
      isWaiting = false
      try {
        await login()
      } catch (problem) {
        isWaiting = true
        throw problem
      }
    },
    /** Goes on with the session of the cookie, if there is one. */
    async lookAgain() {
      if (document.hidden || isLooking || !isWaiting) return
      isLooking = true
      const live = await sessionInCookie().catch(() => null)
      isLooking = false
      if (live === null || !isWaiting) return
      isWaiting = false
      beginInCookie(live.handle)
      done()
    },
  }
}

/**
 * Continues with the session that a cookie keeps, if there is one. Without one it answers what the sign-in says about the last
 * one.
 *
 * @param {number} [wrongCodes]
 * @returns {Promise<TextName | null>}
 */
export async function resume(wrongCodes) {
  try {
    beginInCookie((await sessionInCookie()).handle, wrongCodes)
    return null
  } catch (problem) {
    // The account of the cookie is disabled. Another user may sign in.
    if (problem instanceof CallError && problem.code === 403) return 'failed_disabled'
    if (!(problem instanceof CallError) || problem.code !== 401) throw problem
    if (problem.data?.cookie !== undefined) return 'cookie_twice'
    return problem.data?.ended === undefined ? null : endedText(problem.data.ended)
  }
}

/**
 * What the gateway answers to a step of a login: the token, or what the next step needs.
 *
 * @param {Promise<any>} request
 */
async function answerOf(request) {
  try {
    return await request
  } catch (problem) {
    if (problem instanceof CallError && typeof problem.data?.ticket === 'string') return problem.data
    throw problem
  }
}
