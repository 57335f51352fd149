import type { Endpoints } from '../own-routes.ts'
import { disable, disabled, disabledPage, untieDisable } from './disable.ts'
import { exit, exitToken } from './end.ts'
import { page, tokens } from './online-users.ts'
import { analysis, chart } from './overview.ts'
import type { SessionEndpointsOptions } from './route.ts'

export { PERMISSIONS as SESSION_PERMISSIONS } from './route.ts'

/** The endpoints of "Session administration", and ours beside them. */
export const sessionEndpoints = (options: SessionEndpointsOptions) =>
  ({
    'sessions/analysis': analysis(options),
    'sessions/chart-data': chart(options),
    'sessions/page': page(options),
    'sessions/tokens': tokens(options),
    'sessions/exit': exit(options),
    'sessions/exit-token': exitToken(options),
    'sessions/disable': disable(options),
    'sessions/untie-disable': untieDisable(options),
    'sessions/disabled': disabled(options),
    'sessions/disabled-page': disabledPage(options),
  }) satisfies Partial<Endpoints>
