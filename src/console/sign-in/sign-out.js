import { choices } from '../choices.js'
import { h, mark, show } from '../elements/dom.js'
import { refuseSecondClick } from '../elements/forms.js'
import { t } from '../language/language.js'

/* A button that signs out: a link alone must not, because any page can follow a link for its visitor. */

const app = /** @type {HTMLElement} */ (document.getElementById('app'))

function draw() {
  document.title = t('sign_out')
  const form = h(
    'form',
    { class: 'sign-in', method: 'post' },
    h('header', {}, mark(), h('div', {}, h('h1', {}, t('sign_out')), h('p', {}, t('sign_out_detail')))),
    // Of two sign-outs the second finds no session, and would not lead on to its provider.
    h('footer', {}, h('button', { type: 'submit', class: 'primary', onclick: refuseSecondClick }, t('sign_out'))),
  )
  show(app, h('main', { class: 'sign-in-page' }, form, h('div', { class: 'sign-in-choices' }, choices(draw))))
}

draw()
