import { load } from './bundle.ts'
import { allocateYoung } from './young-objects.ts'

/* The program of a worker process. */
allocateYoung()
void load('serve', () => import('./serve.ts')).then(({ serveOnOrders }) => serveOnOrders())
