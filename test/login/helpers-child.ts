import { pino } from 'pino'
import { createHelpers } from '../../src/login/helpers/helpers.ts'

/** Draws one captcha and has nothing else to do, without closing its helpers. */
const picture = await createHelpers(pino({ level: 'silent' })).draw('ACDE')
process.stdout.write(picture.slice(0, 'data:image/png'.length))
