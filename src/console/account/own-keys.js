import { get, post, settings } from '../api.js'
import { h, show } from '../elements/dom.js'
import { actionForm } from '../elements/forms.js'
import { zone } from '../elements/paging.js'
import { createSorting } from '../elements/sorting.js'
import { rowButton, table } from '../elements/tables.js'
import { openAddKey, openProven } from '../keys/add.js'
import { lastUse, limitTexts, nameCell } from '../keys/listed.js'
import { openNewKey } from '../keys/new-key.js'
import { revokeButton } from '../keys/revoke.js'
import { count, duration, nameOf } from '../language/format.js'
import { t } from '../language/language.js'
import { createOwnList } from './own-list.js'
import { proofFields } from './proof.js'

/** @typedef {import('../keys/listed.js').Key} Key */
/** @typedef {import('./account.js').Account} Account */

/** The keys of the signed-in user. */
export function createOwnKeys() {
  /** @type {() => Promise<Key[]>} */
  const request = () => get('b/account/keys')
  const { load, trouble, items, loading } = createOwnList(request, draw)
  /** Whether the gateway knows the account: only then its user proves a request. */
  let isKnown = false
  const element = h('section', { class: 'panel own-keys' })
  const list = h('div', {})
  const sorting = createSorting(draw)

  /** @param {Key[] | null} keys */
  function fill(keys) {
    if (keys === null) return show(list, loading())
    if (keys.length === 0) return show(list, h('div', { class: 'empty' }, h('p', {}, t('no_own_keys'))))
    show(list, keyTable(keys, { isKnown, load, keys: items }, sorting))
  }

  function draw() {
    const keys = items()
    fill(keys)
    // Who is proven by a provider alone makes none.
    element.hidden = !isKnown && keys?.length === 0
    const most = settings.keys.BUSINESS?.max_per_user ?? 0
    const isFull = (keys ?? []).filter(({ replaced }) => !replaced).length >= most
    show(
      element,
      h('header', {}, h('h2', {}, t('my_keys')), isKnown && keys !== null && !isFull && addButton(load)),
      h('p', { class: 'quiet detail' }, t('my_keys_detail')),
      isFull && h('p', { class: 'quiet detail' }, t('keys_full', { n: count(most) })),
      trouble,
      list,
      keys !== null && keys.length > 0 && h('div', { class: 'pages' }, zone()),
    )
  }

  return {
    element,
    load,
    draw,
    /** @param {Account} account */
    show({ permissions }) {
      isKnown = permissions !== null
      draw()
    },
  }
}

/** @param {() => Promise<void>} done */
const addButton = done =>
  h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-key': 'add-key',
      onclick: () =>
        openAddKey({
          title: t('add_key'),
          type: 'BUSINESS',
          detail: t('add_key_detail'),
          all: 'all_own_permissions',
          held: own => own.permissions ?? [],
          user: nameOf,
          send: body => post('b/account/keys/add', body),
          done,
        }),
    },
    `${t('add_key')}…`,
  )

/** @typedef {{ isKnown: boolean, load: () => Promise<void>, keys: () => Key[] | null }} Own `keys` are those that were loaded last. */

/**
 * @param {Key[]} keys
 * @param {Own} own
 * @param {import('../elements/sorting.js').Sorting} sorting
 */
const keyTable = (keys, own, sorting) =>
  table({
    caption: t('my_keys'),
    columns: [
      { label: t('key'), look: 'who', isUnlabelled: true, by: ({ name }) => name },
      { label: t('valid_until'), look: 'number', by: key => key.expires_at },
      { label: t('last_used'), look: 'number', by: key => key.last_used_at },
      { label: t('limits'), look: 'limits' },
      { label: t('actions'), look: 'actions' },
    ],
    items: keys,
    row: key => row(key, own),
    sorting,
  })

/**
 * @param {Key} key
 * @param {Own} own
 */
const row = (key, own) => [
  nameCell(key, 'BUSINESS'),
  key.expires_at,
  lastUse(key),
  limitTexts(key).map(text => h('span', { class: 'line' }, text)),
  [
    own.isKnown &&
      !key.replaced &&
      rowButton({
        key: `rotate ${key.id}`,
        text: `${t('rotate')}…`,
        about: `${key.name}, ${key.hint}…`,
        onclick: () => openRotate(key, own),
      }),
    revokeButton(key, { route: 'b/account/keys/revoke', body: { id: key.id }, done: own.load }),
  ],
]

/**
 * @param {Key} key
 * @param {Own} own
 */
const openRotate = ({ id, name, paths }, { load, keys }) =>
  openProven(t('rotate_title', { name }), (account, forms) => {
    const time = duration(settings.keys.BUSINESS?.overlap_seconds ?? 0)
    const proof = proofFields(account.second_factor === true)
    const note = h('p', { class: 'advice', 'data-key': 'old-key' }, t('old_key_valid_for', { time }))
    return actionForm({
      body: [h('p', {}, t('rotate_detail', { time })), ...proof.body],
      action: t('rotate'),
      beside: [forms.cancel],
      async run() {
        const made = await post('b/account/keys/rotate', { id, ...(await proof.values()) })
        forms.close()
        openNewKey({ title: name, made, user: nameOf(account), paths, note })
      },
      failed: proof.failed,
      async reload() {
        await load()
        const old = keys()?.find(one => one.id === id)
        if (old?.replaced) note.textContent = t('old_key_valid_until', { time: old.expires_at })
      },
    }).element
  })
