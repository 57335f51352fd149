import { load } from './bundle.ts'

/* The program of a worker process. */
const { serveOnOrders } = await load('serve', () => import('./serve.ts'))
serveOnOrders()
