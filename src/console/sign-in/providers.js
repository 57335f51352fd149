import { settings, urlOf } from '../api.js'
import { h } from '../elements/dom.js'
import { t } from '../language/language.js'
import { preferences } from '../preferences.js'

/* The sign-in by OpenID providers: a button for each, and what is known when the browser comes back. */

/** @typedef {import('../language/language.js').TextName} TextName */

/**
 * @typedef {object} Arrival What the gateway says about a sign-in by a provider.
 * @property {boolean} signedIn Whether the browser got a session.
 * @property {string | null} step The name of the step that the sign-in needs.
 * @property {string | null} failed Why it failed, in one word.
 */

/** What the user can do about a failure. The others are for an administrator. */
/** @type {Record<string, TextName>} */
const REMEDIES = {
  'unknown-state': 'provider_expired',
  'used-state': 'provider_expired',
  'other-browser': 'provider_other_browser',
  'ended-at-provider': 'because_provider-logout',
  denied: 'provider_denied',
  'no-account': 'provider_no_account',
  'group-required': 'provider_not_allowed',
  'group-overage': 'provider_not_allowed',
  'email-required': 'provider_not_allowed',
  'email-missing': 'provider_not_allowed',
  'email-unverified': 'provider_email',
  'account-locked': 'provider_account',
  'account-inactive': 'provider_account',
  disabled: 'provider_account',
}

/**
 * Reads how a sign-in by a provider has ended, and takes it out of the address: a reload, and a tab that is restored, must not
 * repeat it.
 *
 * @returns {Arrival}
 */
export function takeArrival() {
  const url = new URL(location.href)
  const { searchParams: asked } = url
  const word = asked.get('failed')
  const arrival = {
    signedIn: asked.has('arrived'),
    step: asked.get('step'),
    failed: word !== null && /^[a-z-]{1,40}$/.test(word) ? word : null,
  }
  for (const name of ['arrived', 'step', 'failed']) asked.delete(name)
  if (url.href !== location.href) history.replaceState(null, '', url)
  return arrival
}

/**
 * What the sign-in says about a failure; the word is for administrators.
 *
 * @param {string} word
 */
export const failureText = word => `${t(REMEDIES[word] ?? 'provider_failed')} ${t('provider_reason', { word })}`

/**
 * A button for each provider.
 *
 * @param {() => string} destination Where the user wants to go, with the fragment.
 */
export const providerButtons = destination =>
  settings.providers.map(({ name, label }) => {
    const to = h('input', { type: 'hidden', name: 'to' })
    return h(
      'form',
      {
        method: 'post',
        action: urlOf(`/sign-in/${settings.section}/${name}/start`),
        onsubmit: () => {
          to.value = destination()
        },
      },
      to,
      h('button', { type: 'submit', 'data-key': `provider ${name}` }, labelOf(label)),
    )
  })

/** @param {string | Record<'en' | 'zh-CN', string>} label */
const labelOf = label => (typeof label === 'string' ? label : label[preferences.language === 'en' ? 'en' : 'zh-CN'])
