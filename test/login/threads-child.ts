import { pino } from 'pino'
import { createThreads } from '../../src/login/threads.ts'

/** Draws one captcha and has nothing else to do, without closing its threads. */
const picture = await createThreads(pino({ level: 'silent' })).draw('ACDE')
process.stdout.write(picture.slice(0, 'data:image/png'.length))
