#!/usr/bin/env node
/* Node loads one CommonJS file faster than a few modules. Without the bundle the modules run. */
const { existsSync } = process.getBuiltinModule('node:fs')
const { createRequire } = process.getBuiltinModule('node:module')
const file = new URL('bundle/program.cjs', import.meta.url)
if (existsSync(file)) createRequire(file)('./program.cjs')
else await import('./program.ts')
