#!/usr/bin/env node
import { load } from './process/bundle.ts'

const { runProcess } = await load('cli', () => import('./cli.ts'))
await runProcess()
