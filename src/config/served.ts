import { withConsole } from '../gate/pages.ts'
import type { PathRules } from '../gate/rules.ts'
import type { Profile } from '../profile.ts'
import type { Settings } from './schema.ts'

type Switches = Pick<Settings, 'session_administration' | 'console'>

/** Whether the session administration is served: as the settings say, or else the profile. */
export const servesAdministration = ({ session_administration }: Switches, profile: Profile): boolean =>
  session_administration ?? profile.sessionAdministration

/** Whether the administration page is served: it is nothing without the endpoints that it calls. */
export const servesConsole = (settings: Switches, profile: Profile): boolean =>
  settings.console && servesAdministration(settings, profile)

/** The path rules of the gate with these settings. */
export const pathRulesOf = (settings: Switches, profile: Profile): PathRules =>
  servesConsole(settings, profile) ? withConsole(profile.paths) : profile.paths
