#!/usr/bin/env node
import { load } from './process/bundle.ts'
import { allocateYoung } from './process/young-objects.ts'

allocateYoung()
const { runProcess } = await load('cli', () => import('./cli.ts'))
await runProcess()
