import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { pino } from 'pino'
import { systemClock } from '../../src/base/clock.ts'
import { createTimestampFormat } from '../../src/base/timestamp.ts'
import { loadSettings } from '../../src/settings/load.ts'
import { openStore } from '../../src/store/open.ts'
import { eventually } from './setup.ts'

/** Puts captchas with known answers into the store of a gateway. */
export interface Captchas {
  put(): Promise<{ captcha_id: string; captcha_value: string }>
  close(): Promise<void>
}

const ANSWER = 'ACDF'
const LIFETIME = 60_000

export async function openCaptchas(folder: string): Promise<Captchas> {
  const settings = loadSettings(join(folder, 'config/gateway.yaml'), {}, folder)
  const store = await openStore(
    settings.store,
    settings.data,
    systemClock,
    pino({ level: 'silent' }),
    undefined,
    false,
    {
      timestamps: createTimestampFormat(settings.timezone),
      captchaKey: settings.login.captcha.key,
    },
  )
  await eventually('the store of the captchas', () => store.attempts.read('none').then(() => true))
  return {
    async put() {
      const captcha_id = randomUUID()
      await store.captchas.put('BUSINESS', captcha_id, ANSWER, Date.now() + LIFETIME)
      return { captcha_id, captcha_value: ANSWER }
    },
    close: () => store.close(),
  }
}
