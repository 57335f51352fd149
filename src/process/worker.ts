import { load } from './bundle.ts'
import { settleTicks } from './ticks.ts'
import { allocateYoung } from './young-objects.ts'

/* The program of a worker process. */
settleTicks()
allocateYoung()
void load('serve', () => import('./serve.ts')).then(({ serveOnOrders }) => serveOnOrders())
