import { load } from './bundle.ts'
import { allocateYoung } from './young-objects.ts'

/* The program of a worker process. */
allocateYoung()
const { serveOnOrders } = await load('serve', () => import('./serve.ts'))
serveOnOrders()
