import { CallError, post, publicRoute, sessionInCookie, settings, takeStep } from '../api.js'
import { h, show } from '../elements/dom.js'
import { actionForm, field, focusFirst, passwordInput, textInput } from '../elements/forms.js'
import { encrypted } from '../encryption.js'
import { faultText, t } from '../language/language.js'
import { TEXTS } from '../language/texts.js'
import { begin, beginInCookie, session } from '../session.js'
import { createCaptcha, provedWork } from './captcha.js'
import { codesStep, STEPS } from './steps.js'

/**
 * @typedef {object} Progress What a step of a login needs to know.
 * @property {string} ticket
 * @property {string} username
 * @property {string} password What was typed at the sign-in.
 * @property {(route: string, body: object) => Promise<void>} send Sends the answer of the step, and shows what comes next.
 * @property {() => void} restart
 */

/**
 * What the sign-in says about a session that has ended.
 *
 * @param {import('../api.js').EndReason} [reason] As the gateway names it; a later version may have others.
 * @returns {import('../language/language.js').TextName}
 */
export function endedText(reason) {
  const name = /** @type {const} */ (`because_${reason}`)
  return name in TEXTS.en ? /** @type {import('../language/language.js').TextName} */ (name) : 'ended'
}

/**
 * The sign-in: name, password and captcha, and then the steps that the gateway requires.
 *
 * @param {Element} place
 * @param {{ reason: import('../language/language.js').TextName | null, fault?: (() => string) | null,
 *   title: () => import('../elements/dom.js').Child[], providers: () => Node[], device: string, choices: () => Node,
 *   done: () => void }} options `reason` shows the user why a new sign-in is necessary, and `fault` why the last one failed;
 *   `providers` are the buttons of OpenID providers; `device` is the name of the page in lists of sessions; `choices` are language
 *   and theme.
 */
export function createSignIn(place, { reason, fault = null, choices, done, ...look }) {
  const typed = { username: '', password: '' }
  let timer = 0
  /** @type {() => Node} */
  let drawForm = () => firstForm({ typed, reason, fault, send, ...look })

  /** @param {() => Node} form */
  function open(form) {
    drawForm = form
    draw()
  }

  function draw() {
    show(place, h('main', { class: 'sign-in-page' }, drawForm(), h('div', { class: 'sign-in-choices' }, choices())))
    focusFirst(place)
  }

  /** @param {import('../language/language.js').TextName | null} why */
  function restart(why) {
    clearTimeout(timer)
    Object.assign(typed, { password: '' })
    open(() => firstForm({ typed, reason: why, fault: null, send, ...look }))
  }

  /**
   * Continues with what the gateway answers: the next step, or the token. Recovery codes are shown before it.
   *
   * @param {string} route
   * @param {object} body
   */
  async function send(route, body) {
    const answer = await answerOf(publicRoute(route), settings.keeps_cookie ? { ...body, session: 'cookie' } : body)
    clearTimeout(timer)
    const next = () => (answer.ticket === undefined ? finish(answer) : openStep(answer))
    const { recovery_codes: codes } = answer
    if (codes === undefined) await next()
    else open(() => codesStep(codes, typed.username, next))
  }

  /** @param {{ token?: string, wrong_codes?: number }} signedIn Without a token if a cookie keeps it, as far as the browser does. */
  async function finish({ token, wrong_codes }) {
    if (token !== undefined) begin(token, wrong_codes)
    else await resume(wrong_codes)
    if (session.handle === null) return restart('cookie_not_kept')
    done()
  }

  /** @param {{ ticket: string, required: keyof typeof STEPS, expires_in: number }} step */
  function openStep({ ticket, required, expires_in }) {
    timer = window.setTimeout(() => restart('step_expired'), expires_in * 1000)
    open(STEPS[required]({ ticket, ...typed, send, restart: () => restart(null) }))
  }

  /**
   * Continues a sign-in by a provider with the step that it needs.
   *
   * @param {string} name
   */
  async function openStepOf(name) {
    try {
      openStep(await takeStep(name))
    } catch (problem) {
      if (!(problem instanceof CallError)) throw problem
      restart('step_expired')
    }
  }

  return { draw, openStepOf, leave: () => clearTimeout(timer) }
}

/**
 * @typedef {object} FirstForm
 * @property {{ username: string, password: string }} typed
 * @property {import('../language/language.js').TextName | null} reason
 * @property {(() => string) | null} fault
 * @property {(route: string, body: object) => Promise<void>} send
 * @property {() => import('../elements/dom.js').Child[]} title
 * @property {() => Node[]} providers
 * @property {string} device
 */

/**
 * What the sign-in begins with: name and password, buttons of providers, or both.
 *
 * @param {FirstForm} options
 */
function firstForm(options) {
  const { reason, fault, title, providers } = options
  const buttons = providers()
  if (buttons.length === 0) return credentialsForm(options)
  const text = fault?.() ?? (reason === null ? null : t(reason))
  const list = h('div', { class: 'providers' }, buttons)
  if (settings.password)
    return h('div', { class: 'ways' }, credentialsForm(options), h('p', { class: 'or' }, t('sign_in_or')), list)
  const isGood = reason === 'signed_out' && fault === null
  return h(
    'div',
    { class: 'sign-in' },
    h('header', {}, title()),
    text !== null && h('p', isGood ? { class: 'told', role: 'status' } : { class: 'fault', role: 'alert' }, text),
    list,
  )
}

/**
 * Continues with the session that a cookie keeps, if there is one. Without one it answers what the sign-in says about the last
 * one.
 *
 * @param {number} [wrongCodes]
 * @returns {Promise<import('../language/language.js').TextName | null>}
 */
export async function resume(wrongCodes) {
  try {
    beginInCookie((await sessionInCookie()).handle, wrongCodes)
    return null
  } catch (problem) {
    if (!(problem instanceof CallError) || problem.code !== 401) throw problem
    return problem.data?.ended === undefined ? null : endedText(problem.data.ended)
  }
}

/**
 * What the gateway answers to a step of a login: the token, or what the next step needs.
 *
 * @param {string} path
 * @param {object} body
 */
async function answerOf(path, body) {
  try {
    return await post(path, body)
  } catch (problem) {
    if (problem instanceof CallError && typeof problem.data?.ticket === 'string') return problem.data
    throw problem
  }
}

/** @param {FirstForm} options */
function credentialsForm({ typed, reason, fault, send, title, device }) {
  const username = textInput('username', { autocomplete: 'username', required: true })
  username.value = typed.username
  const password = passwordInput('password', 'current-password')
  const captcha = textInput('captcha', { autocapitalize: 'characters', required: true, maxlength: 8 })
  /** The fault that is shown because there is no picture. */
  let missing = ''
  const picture = createCaptcha({
    failed(problem) {
      missing = faultText(problem)
      form.showFault(missing)
    },
    drawn() {
      form.clearFault(missing)
      missing = ''
    },
  })
  const read = field({ id: 'captcha', label: t('captcha'), input: captcha, beside: picture.button })
  const proof = proofChoice(isProved => {
    read.hidden = isProved
    captcha.disabled = isProved
    if (!isProved && picture.id() === '') void picture.draw()
  })
  // Who has signed out needs no alarm.
  const signedOut = reason === 'signed_out' && h('p', { class: 'told', role: 'status' }, t(reason))
  const form = actionForm({
    class: 'sign-in',
    title: title(),
    body: [
      signedOut,
      field({ id: 'username', label: t('username'), input: username }),
      field({ id: 'password', label: t('password'), input: password }),
      read,
      proof.element,
    ],
    action: t('sign_in'),
    busy: t('signing_in'),
    fault: fault?.() ?? (reason === null || signedOut ? null : t(reason)),
    async run() {
      Object.assign(typed, { username: username.value.trim(), password: password.value })
      await send('login', {
        username: typed.username,
        password: await encrypted(typed.password),
        ...(proof.isChosen() ? await provedWork() : { captcha_id: picture.id(), captcha_value: captcha.value }),
        device_id: device,
      })
    },
    failed() {
      if (signedOut) signedOut.remove()
      if (proof.isChosen()) return password.focus()
      captcha.value = ''
      captcha.focus()
      void picture.draw()
    },
  })
  return form.element
}

/** Whether the user of this page has chosen a proof of work. Who cannot see one picture cannot see the next. */
let isProofChosen = false

/**
 * The choice between a picture and a proof of work, where the gateway accepts both.
 *
 * @param {(isChosen: boolean) => void} changed Called at once, too.
 */
function proofChoice(changed) {
  const isOffered = settings.captcha_alternative === 'proof-of-work'
  const text = h('p', { class: 'quiet', role: 'status' })
  const button = h('button', { type: 'button', class: 'link', 'data-key': 'captcha-kind', onclick: turn })
  const isChosen = () => isOffered && isProofChosen
  apply()

  function turn() {
    isProofChosen = !isProofChosen
    apply()
  }

  function apply() {
    text.hidden = !isChosen()
    text.textContent = isChosen() ? t('captcha_proof') : ''
    button.textContent = t(isChosen() ? 'captcha_can' : 'captcha_cannot')
    changed(isChosen())
  }

  return { element: isOffered && h('div', { class: 'captcha-kind' }, text, button), isChosen }
}
