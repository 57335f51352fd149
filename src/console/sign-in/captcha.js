import { CallError, get, publicRoute } from '../api.js'
import { h } from '../elements/dom.js'
import { createLoads } from '../elements/loads.js'
import { t } from '../language/language.js'

/**
 * The picture of a captcha, on a button that requests another one. After a failed request, "Try again" stands in its place.
 *
 * @param {{ failed: (problem: unknown) => void, drawn: () => void }} options
 */
export function createCaptcha({ failed, drawn }) {
  let captchaId = ''
  const begin = createLoads()
  const picture = h('img', { alt: '', width: 150, height: 57, hidden: true })
  const retry = h('span', { hidden: true }, t('retry'))
  const button = h('button', { type: 'button', class: 'captcha', onclick: draw }, picture, retry)
  label('captcha_another')

  /** @param {'captcha_another' | 'retry'} name */
  function label(name) {
    button.title = t(name)
    button.setAttribute('aria-label', t(name))
    retry.hidden = name !== 'retry'
  }

  async function draw() {
    captchaId = ''
    picture.hidden = true
    const isNewest = begin()
    try {
      const { captcha_id, captcha_base64 } = await get(publicRoute('captcha'))
      if (!isNewest()) return
      captchaId = captcha_id
      picture.src = captcha_base64
      picture.hidden = false
      label('captcha_another')
      drawn()
    } catch (problem) {
      if (!isNewest()) return
      label('retry')
      failed(problem)
    }
  }

  return { button, draw, id: () => captchaId }
}

/**
 * What a login sends instead of the answer to a picture: the solution of a challenge.
 *
 * @returns {Promise<{ captcha_id: string, captcha_value: string }>}
 */
export async function provedWork() {
  const { captcha_id, challenge, difficulty } = await get(publicRoute('captcha'), { kind: 'proof-of-work' })
  const worker = new Worker(new URL('proof-worker.js', import.meta.url), { type: 'module' })
  try {
    const captcha_value = await new Promise((resolve, reject) => {
      worker.addEventListener('message', ({ data }) => resolve(data))
      worker.addEventListener('error', () => reject(new CallError(0, '', null, 'offline')))
      worker.postMessage({ challenge, difficulty })
    })
    return { captcha_id, captcha_value }
  } finally {
    worker.terminate()
  }
}
