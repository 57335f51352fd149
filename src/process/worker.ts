import cluster from 'node:cluster'
import { settleTicks } from '../workarounds/node-next-tick.ts'
import { load } from './bundle.ts'

/* The program of a worker process. */
// The primary has ended, and a message to it could not be written: this process ends with the connection.
cluster.worker?.on('error', () => undefined)
settleTicks()
void load('serve', () => import('./serve.ts')).then(({ serveOnOrders }) => serveOnOrders())
