import cluster from 'node:cluster'
import { load } from './bundle.ts'
import { settleTicks } from './ticks.ts'
import { allocateYoung } from './young-objects.ts'

/* The program of a worker process. */
// The primary has ended, and a message to it could not be written: this process ends with the connection.
cluster.worker?.on('error', () => undefined)
allocateYoung()
settleTicks()
void load('serve', () => import('./serve.ts')).then(({ serveOnOrders }) => serveOnOrders())
