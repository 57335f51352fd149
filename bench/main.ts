import { COMPARISON_HELP, comparison } from './comparison.ts'
import { ENDS_HELP, ends } from './ends.ts'
import { FLEET_HELP, fleet } from './fleet.ts'
import { GOALS_HELP, goals } from './goals.ts'
import { GROWTH_HELP, growth } from './growth.ts'
import { INSTRUCTIONS_HELP, instructions } from './instructions.ts'
import { JOURNAL_HELP, journal } from './journal.ts'
import { LIMITS_HELP, limits } from './limits.ts'
import { LOGIN_HELP, login } from './login.ts'
import { describeMachine } from './machine.ts'
import { MANY_HELP, many } from './many.ts'
import { PROFILE_HELP, profile } from './profile.ts'
import { PROXY_HELP, proxy } from './proxy.ts'
import { RESOURCES_HELP, resources } from './resources.ts'
import { SESSIONS_HELP, sessions } from './sessions.ts'
import { SOAK_HELP, soak } from './soak.ts'
import { TIMES_HELP, times } from './times.ts'
import { UPHEAVAL_HELP, upheaval } from './upheaval.ts'

const HELP = `Usage: npm run bench -- WHAT [options]

  ${PROXY_HELP}
  ${GOALS_HELP}
  ${COMPARISON_HELP}
  ${GROWTH_HELP}
  ${SESSIONS_HELP}
  ${MANY_HELP}
  ${ENDS_HELP}
  ${FLEET_HELP}
  ${LOGIN_HELP}
  ${JOURNAL_HELP}
  ${TIMES_HELP}
  ${RESOURCES_HELP}
  ${LIMITS_HELP}
  ${UPHEAVAL_HELP}
  ${SOAK_HELP}
  ${PROFILE_HELP}
  ${INSTRUCTIONS_HELP}`

const RUNS: Readonly<Record<string, (words: string[]) => Promise<void>>> = {
  proxy,
  goals,
  comparison,
  growth,
  sessions,
  many,
  ends,
  fleet,
  login,
  journal,
  times,
  resources,
  limits,
  upheaval,
  soak,
  profile,
  instructions,
}

const [what = '', ...words] = process.argv.slice(2)
const run = RUNS[what]
if (run === undefined) {
  console.error(HELP)
  process.exitCode = 1
} else {
  console.log(`${describeMachine()}\n`)
  await run(words)
}
