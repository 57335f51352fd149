import type { LoginType } from '../session/sides.ts'

/** What a request must prove: nothing, a session of one side, or a session of either side. */
export type RequiredSession = 'none' | LoginType | 'either'
