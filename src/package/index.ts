import { load } from '../process/bundle.ts'

/* The package, for a program that embeds the gateway: from the bundle, which needs few other packages. */
export type * from './library.ts'
export const { business, createGateway, createGuards, createPermissions, loadSettings, Refusal } = await load(
  'library',
  () => import('./library.ts'),
)
