import { availableParallelism } from 'node:os'
import type { Settings } from './schema/settings.ts'

/** How many worker processes a gateway has. */
export const workerCount = ({ workers }: Pick<Settings, 'workers'>): number =>
  workers === 'auto' ? availableParallelism() : workers
