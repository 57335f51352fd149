import { get, post } from '../api.js'
import { confirm } from '../elements/dialogs.js'
import { h, notify, show } from '../elements/dom.js'
import { zone } from '../elements/paging.js'
import { createSorting } from '../elements/sorting.js'
import { DASH, rowButton, table } from '../elements/tables.js'
import { count, deviceText, duration } from '../language/format.js'
import { t } from '../language/language.js'
import { byProvider, LISTED, sessionTimes } from '../sessions/times.js'
import { createOwnList } from './own-list.js'

/**
 * @typedef {{ token: string, created_at: string, timeout_seconds: number, device_type: string | null,
 *   device_id: string | null, login_ip: string | null, provider: string | null, current: boolean }} OwnSession
 */

/** The sessions of the signed-in user, each with a button to end it. */
export function createOwnSessions() {
  /** @type {() => Promise<OwnSession[]>} */
  const request = () => get('b/session/tokens')
  const { load, trouble, items, loading } = createOwnList(request, draw)
  const element = h('section', { class: 'panel own-sessions' })
  const sorting = createSorting(draw)

  function draw() {
    const sessions = items()
    const others = (sessions ?? []).filter(({ current }) => !current)
    const endOthers = h(
      'button',
      { type: 'button', class: 'small danger', 'data-key': 'end-others', onclick: () => confirmEndOthers(load) },
      `${t('end_others')}…`,
    )
    show(
      element,
      h('header', {}, h('h2', {}, t('my_sessions')), others.length > 0 && endOthers),
      trouble,
      sessions === null ? loading() : sessionTable(sessions, load, sorting),
      sessions?.length === LISTED && h('p', { class: 'cut quiet' }, t('newest_own_sessions', { n: count(LISTED) })),
      h('div', { class: 'pages' }, zone()),
    )
  }

  return { element, load, draw }
}

/**
 * @param {OwnSession[]} sessions
 * @param {() => Promise<void>} changed
 * @param {import('../elements/sorting.js').Sorting} sorting
 */
const sessionTable = (sessions, changed, sorting) =>
  table({
    caption: t('my_sessions'),
    columns: [
      { label: t('device'), isUnlabelled: true, by: deviceOf },
      ...sessionTimes(),
      { label: t('address'), look: 'number', by: one => one.login_ip },
      { label: t('actions'), look: 'actions' },
    ],
    items: sessions,
    sorting,
    row: one => {
      const device = deviceOf(one)
      const end = () => confirmEnd(one, device, changed)
      return [
        [device, one.current && h('span', { class: 'tag own' }, t('this_session'))],
        [one.created_at, byProvider(one)],
        duration(one.timeout_seconds),
        one.login_ip ?? DASH,
        !one.current &&
          rowButton({
            key: one.token,
            text: `${t('end')}…`,
            about: `${device}, ${one.created_at}`,
            look: 'small danger',
            onclick: end,
          }),
      ]
    },
  })

/** @param {OwnSession} one */
const deviceOf = one => deviceText(one.device_type, one.device_id)

/**
 * @param {OwnSession} one
 * @param {string} device
 * @param {() => Promise<void>} changed
 */
const confirmEnd = ({ token, created_at }, device, changed) =>
  confirm({
    title: t('end_one_title'),
    details: [t('end_own_one_detail', { device, time: created_at })],
    action: t('end'),
    reload: changed,
    async run() {
      await post('b/session/exit-token', { token })
      notify(t('ended_own_one'))
    },
  })

/** @param {() => Promise<void>} changed */
const confirmEndOthers = changed =>
  confirm({
    title: t('end_others_title'),
    details: [t('end_others_detail')],
    action: t('end_others'),
    reload: changed,
    async run() {
      const { ended } = await post('b/session/exit-others')
      notify(t('ended_others', { n: count(ended) }))
    },
  })
