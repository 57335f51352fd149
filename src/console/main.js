import { get, loadSettings, onEnded, post, settings } from './api.js'
import { closeDialogs } from './dialogs.js'
import { h, mark, show } from './dom.js'
import { now } from './format.js'
import { faultText, t } from './language.js'
import { createOverview } from './overview.js'
import { chooseLanguage, chooseTheme, preferences, THEMES } from './preferences.js'
import { refreshRegularly } from './refresh.js'
import { forget, MAY, may, session } from './session.js'
import { showSignIn } from './sign-in.js'
import { createUsers } from './users.js'

const app = /** @type {HTMLElement} */ (document.getElementById('app'))

/** The endpoints of each side, below `/api/v<n>/`. */
const SIDES = { BUSINESS: 'sys/session', CONSUMER: 'client/session' }

/** @typedef {keyof typeof SIDES} SideName */

/** Draws what is on the page again; another language or other colours need it. */
let redraw = () => {}
/** Ends what the page of before still does. */
let leave = () => {}

function turnTo(/** @type {() => void} */ page) {
  leave()
  leave = () => {}
  closeDialogs()
  redraw = page
  page()
}

/** @param {import('./language.js').TextName | null} why */
const signIn = why =>
  turnTo(() => showSignIn(app, { why: why === null ? null : t(why), chrome: choices(), done: () => void enter() }))

/** Asks whose session it is, and shows them what they may see. */
async function enter() {
  show(app, h('p', { class: 'whole-page quiet' }, t('loading')))
  try {
    session.owner = await get('sys/session/current')
    turnTo(may('see') ? openSessions() : showNotPermitted)
  } catch (problem) {
    // An ended session has already led to the sign-in.
    if (session.token !== null) turnTo(() => showFault(faultText(problem), enter))
  }
}

async function signOut() {
  const { token, owner } = session
  const ending = settings.logout
    ? post('b/logout')
    : post(`${SIDES.BUSINESS}/exit-token`, { user_id: owner?.user_id, token })
  // Whether or not the gateway hears of it, this page forgets the token.
  await ending.catch(() => {})
  forget()
  signIn('signed_out')
}

/**
 * @param {string} text
 * @param {() => void} again
 */
function showFault(text, again) {
  show(
    app,
    h(
      'main',
      { class: 'whole-page' },
      mark(),
      h('p', { role: 'alert' }, text),
      h('button', { type: 'button', onclick: again }, t('retry')),
    ),
  )
}

function showNotPermitted() {
  const why = h('p', { class: 'quiet' }, t('not_permitted_why', { permission: MAY.see }))
  show(app, topBar([]), h('main', { class: 'whole-page' }, h('p', {}, t('not_permitted')), why))
}

/** The page of sessions: made once, and drawn as often as needed. */
function openSessions() {
  /** @type {SideName} */
  let side = location.hash === '#consumer' ? 'CONSUMER' : 'BUSINESS'
  let updated = ''
  const top = h('div', {})
  const trouble = h('div', { class: 'trouble', role: 'alert' })
  const numbers = h('div', {})
  const people = h('div', {})
  const overview = createOverview(numbers)
  const users = createUsers(people, { changed: () => void look() })
  const refresh = refreshRegularly(look)
  users.turnToSide(SIDES[side])

  async function look() {
    try {
      await Promise.all([overview.look(SIDES[side]), users.look()])
      updated = now()
      show(trouble)
    } catch (problem) {
      if (session.token !== null)
        show(
          trouble,
          faultText(problem),
          ' ',
          h('button', { type: 'button', class: 'small', 'data-key': 'retry', onclick: look }, t('retry')),
        )
    }
    drawTop()
  }

  function drawTop() {
    const isPaused = refresh.isPaused
    const pause = () => {
      refresh.pause(!isPaused)
      drawTop()
    }
    show(
      top,
      topBar([
        h(
          'div',
          { class: 'sides', role: 'group', 'aria-label': t('side') },
          sideButton('BUSINESS'),
          sideButton('CONSUMER'),
        ),
        h(
          'span',
          { class: 'refresh quiet' },
          isPaused ? t('paused') : updated === '' ? t('loading') : t('updated', { time: updated }),
        ),
        h(
          'button',
          { type: 'button', class: 'small', 'data-key': 'pause', onclick: pause },
          t(isPaused ? 'resume' : 'pause'),
        ),
      ]),
    )
  }

  const sideButton = (/** @type {SideName} */ name) =>
    h(
      'button',
      {
        type: 'button',
        class: name,
        'aria-pressed': String(name === side),
        'data-key': name,
        onclick: () => turnToSide(name),
        title: t(`${name}_long`),
      },
      t(name),
    )

  function turnToSide(/** @type {SideName} */ name) {
    side = name
    history.replaceState(null, '', name === 'CONSUMER' ? '#consumer' : ' ')
    users.turnToSide(SIDES[side])
    void look()
  }

  void look()
  return () => {
    leave = refresh.stop
    drawTop()
    overview.draw()
    users.draw()
    show(app, top, h('main', { class: 'sessions' }, trouble, numbers, people))
  }
}

/** @param {Node[]} middle */
function topBar(middle) {
  const owner = session.owner
  return h(
    'header',
    { class: 'top' },
    h('div', { class: 'brand' }, mark(), h('h1', {}, 'dualgate'), h('span', { class: 'quiet' }, t('title'))),
    ...middle,
    h(
      'div',
      { class: 'chrome' },
      choices(),
      h('span', { class: 'owner' }, owner?.nickname ?? owner?.username ?? owner?.user_id),
      h('button', { type: 'button', class: 'small', 'data-key': 'sign-out', onclick: signOut }, t('sign_out')),
    ),
  )
}

/** The choices of the reader: language and colours. */
function choices() {
  const other = preferences.language === 'en' ? 'zh' : 'en'
  const language = h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-key': 'language',
      lang: other === 'zh' ? 'zh-CN' : 'en',
      onclick: () => switchLanguage(other),
    },
    other === 'zh' ? '中文' : 'English',
  )
  /** @type {HTMLSelectElement} */
  const theme = h(
    'select',
    {
      class: 'small',
      'aria-label': t('theme'),
      'data-key': 'theme',
      onchange: () => chooseTheme(THEMES[theme.selectedIndex] ?? 'auto'),
    },
    THEMES.map(name => h('option', { value: name, selected: name === preferences.theme }, t(`theme_${name}`))),
  )
  return h('div', { class: 'choices' }, language, theme)
}

/** @param {import('./preferences.js').Language} language */
function switchLanguage(language) {
  chooseLanguage(language)
  document.title = title()
  redraw()
}

const title = () => `dualgate · ${t('title')}`

async function start() {
  try {
    await loadSettings()
    if (session.token === null) signIn(null)
    else await enter()
  } catch (problem) {
    turnTo(() => showFault(faultText(problem), start))
  }
}

document.title = title()
onEnded(() => signIn('ended'))
void start()
