import { load } from './bundle.ts'
import { settleTicks } from './ticks.ts'
import { allocateYoung } from './young-objects.ts'

/* The program of a worker process. */
allocateYoung()
settleTicks()
void load('serve', () => import('./serve.ts')).then(({ serveOnOrders }) => serveOnOrders())
