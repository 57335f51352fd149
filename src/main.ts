#!/usr/bin/env node
/* Node loads one CommonJS file faster than a few modules. Without the bundle the modules run. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'

const file = new URL('bundle/program.cjs', import.meta.url)
if (existsSync(file)) createRequire(file)('./program.cjs')
else await import('./program.ts')
