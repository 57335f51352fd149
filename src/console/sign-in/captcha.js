import { get } from '../api.js'
import { h } from '../elements/dom.js'
import { t } from '../language/language.js'

/**
 * The picture of a captcha, on a button that requests another one.
 *
 * @param {(problem: unknown) => void} failed
 */
export function createCaptcha(failed) {
  let captchaId = ''
  let drawings = 0
  const picture = h('img', { alt: '', width: 150, height: 57, hidden: true })
  const label = t('captcha_another')
  const button = h(
    'button',
    { type: 'button', class: 'captcha', title: label, 'aria-label': label, onclick: draw },
    picture,
  )

  async function draw() {
    captchaId = ''
    picture.hidden = true
    const drawing = ++drawings
    try {
      const { captcha_id, captcha_base64 } = await get('public/b/captcha')
      // Meanwhile another picture was requested.
      if (drawing !== drawings) return
      captchaId = captcha_id
      picture.src = captcha_base64
      picture.hidden = false
    } catch (problem) {
      failed(problem)
    }
  }

  return { button, draw, id: () => captchaId }
}
