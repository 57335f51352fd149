import { get, loadSettings, onEnded, post, settings } from './api.js'
import { closeDialogs } from './dialogs.js'
import { h, mark, show } from './dom.js'
import { now } from './format.js'
import { faultText, t } from './language.js'
import { createOverview } from './overview.js'
import { chooseLanguage, chooseTheme, preferences, THEMES } from './preferences.js'
import { refreshRegularly } from './refresh.js'
import { can, forget, PERMISSIONS, session } from './session.js'
import { showSignIn } from './sign-in.js'
import { createUsers } from './users.js'

const app = /** @type {HTMLElement} */ (document.getElementById('app'))

/** The endpoints of each side, below `/api/v<n>/`. */
const SIDES = { BUSINESS: 'sys/session', CONSUMER: 'client/session' }

/** @typedef {keyof typeof SIDES} SideName */

/** Draws the present page again, after a change of language or theme. */
let redraw = () => {}
/** Stops the timers of the present page. */
let leavePage = () => {}

function openPage(/** @type {() => void} */ page) {
  leavePage()
  leavePage = () => {}
  closeDialogs()
  redraw = page
  page()
}

/** @param {import('./language.js').TextName | null} reason */
const signIn = reason =>
  openPage(() =>
    showSignIn(app, { reason: reason === null ? null : t(reason), choices: choices(), done: () => void enter() }),
  )

/** Requests the own session, and shows the pages that it has permission for. */
async function enter() {
  show(app, h('p', { class: 'whole-page quiet' }, t('loading')))
  try {
    session.owner = await get('sys/session/current')
    openPage(can('list') ? openSessions() : showNotPermitted)
  } catch (problem) {
    // An ended session has already led to the sign-in.
    if (session.token !== null) openPage(() => showFault(faultText(problem), enter))
  }
}

async function signOut() {
  const { token, owner } = session
  const ending = settings.logout
    ? post('b/logout')
    : post(`${SIDES.BUSINESS}/exit-token`, { user_id: owner?.user_id, token })
  // The page deletes the token even if the request fails.
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
  const detail = h('p', { class: 'quiet' }, t('not_permitted_detail', { permission: PERMISSIONS.list }))
  show(app, topBar([]), h('main', { class: 'whole-page' }, h('p', {}, t('not_permitted')), detail))
}

/** The page of sessions: created once, drawn as often as needed. */
function openSessions() {
  /** @type {SideName} */
  let side = location.hash === '#consumer' ? 'CONSUMER' : 'BUSINESS'
  let updated = ''
  const top = h('div', {})
  const trouble = h('div', { class: 'trouble', role: 'alert' })
  const numbers = h('div', {})
  const people = h('div', {})
  const overview = createOverview(numbers)
  const users = createUsers(people, { changed: () => void load() })
  const refresh = refreshRegularly(load)
  users.showSide(SIDES[side])

  async function load() {
    try {
      await Promise.all([overview.load(SIDES[side]), users.load()])
      updated = now()
      show(trouble)
    } catch (problem) {
      if (session.token !== null) show(trouble, faultText(problem), ' ', retryButton(load))
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
        sideButtons(side, showSide),
        h('span', { class: 'refresh quiet' }, isPaused ? t('paused') : updatedText(updated)),
        h(
          'button',
          { type: 'button', class: 'small', 'data-key': 'pause', onclick: pause },
          t(isPaused ? 'resume' : 'pause'),
        ),
      ]),
    )
  }

  function showSide(/** @type {SideName} */ name) {
    side = name
    history.replaceState(null, '', name === 'CONSUMER' ? '#consumer' : ' ')
    users.showSide(SIDES[side])
    void load()
  }

  void load()
  return () => {
    leavePage = refresh.stop
    drawTop()
    overview.draw()
    users.draw()
    show(app, top, h('main', { class: 'sessions' }, trouble, numbers, people))
  }
}

/** @param {() => void} again */
const retryButton = again =>
  h('button', { type: 'button', class: 'small', 'data-key': 'retry', onclick: again }, t('retry'))

/** @param {string} time */
const updatedText = time => (time === '' ? t('loading') : t('updated', { time }))

/**
 * @param {SideName} shown
 * @param {(name: SideName) => void} choose
 */
function sideButtons(shown, choose) {
  const button = (/** @type {SideName} */ name) =>
    h(
      'button',
      {
        type: 'button',
        class: name,
        'aria-pressed': String(name === shown),
        'data-key': name,
        onclick: () => choose(name),
        title: t(`${name}_long`),
      },
      t(name),
    )
  return h('div', { class: 'sides', role: 'group', 'aria-label': t('side') }, button('BUSINESS'), button('CONSUMER'))
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

/** The choices of the user: language and theme. */
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
    openPage(() => showFault(faultText(problem), start))
  }
}

document.title = title()
onEnded(() => signIn('ended'))
void start()
