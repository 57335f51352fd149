#!/usr/bin/env node
import { runCommand } from './cli.ts'
import { reportCrashes } from './process/crash.ts'

reportCrashes()

process.exitCode = await runCommand(process.argv.slice(2), {
  input: process.stdin,
  output: process.stdout,
  errors: process.stderr,
  environment: process.env,
  cwd: process.cwd(),
})
