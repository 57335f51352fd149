import { systemClock } from '../base/clock.ts'
import { Unavailable } from '../base/refusal.ts'
import { createTimestampFormat } from '../base/timestamp.ts'
import { LOGIN_TYPES, type LoginType } from '../session/sides.ts'
import { readConfiguration } from '../settings/load.ts'
import type { Store } from '../store/store.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn } from './command.ts'
import { existingStore } from './open-store.ts'
import { CommandError, say, type Terminal, UsageError } from './terminal.ts'

const BAR_WIDTH = 30
/** Milliseconds between two updates of the progress bar. */
const REDRAW = 100

export const reindex: Command = {
  words: '',
  summary: 'rebuild the index of online users from the sessions',
  help: `Looks at every session in the store and corrects what the session administration shows: users and tokens online, by
name and in order. Safe while gateways serve; can be interrupted and run again. Running gateways find the sessions of
other programs by themselves, some hundred users a second; this finds them sooner.

${CONFIG_HELP}`,
  options: CONFIG_OPTION,
  async run(written, terminal) {
    if (written.words.length > 0) throw new UsageError(`reindex takes no arguments, but got ${written.words.join(' ')}`)
    const { environment, cwd } = terminal
    const { settings } = readConfiguration(configOrBuiltIn(written, cwd), environment, cwd, { secretsNeeded: false })
    const timestamps = createTimestampFormat(settings.timezone)
    const store = await existingStore(settings, { timestamps })
    try {
      for (const type of LOGIN_TYPES) await reindexSide(store, type, terminal)
    } catch (fault) {
      if (fault instanceof Unavailable) throw new CommandError('the store does not answer', { cause: fault })
      throw fault
    } finally {
      await store.close()
    }
    return 0
  },
}

async function reindexSide({ online }: Store, type: LoginType, { output, errors }: Terminal): Promise<void> {
  const draw = progressBar(errors, type)
  const live = await online.reindex(type, draw)
  say(output, `${type}: ${live} live ${live === 1 ? 'token' : 'tokens'}`)
}

/** A progress bar that overwrites itself, only on a terminal. */
function progressBar(screen: Terminal['errors'] & { isTTY?: boolean }, label: string) {
  let drawn = 0
  return (done: number, total: number): void => {
    if (screen.isTTY !== true) return
    const now = systemClock.now()
    const finished = done >= total
    if (!finished && now - drawn < REDRAW) return
    drawn = now
    const part = total === 0 ? 1 : Math.min(1, done / total)
    const bar = '#'.repeat(Math.round(part * BAR_WIDTH)).padEnd(BAR_WIDTH, '.')
    screen.write(`\r${label} [${bar}] ${done} of ${total}${finished ? '\n' : ''}`)
  }
}
