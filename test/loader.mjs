// On Node 20 `--import=tsx` loads TypeScript in the main thread only; registered from here, worker threads get it too.
import { register } from 'tsx/esm/api'

register()
