import { DEFAULT_CONFIG } from './cli/default-file.ts'
import { serves } from './cli/serves.ts'
import { load, onServing, onStarting } from './process/bundle.ts'
import { expectsWorkers, startFirstWorker } from './process/first-worker.ts'
import { endsWithTerminal } from './process/hangup.ts'
import { settleTicks } from './workarounds/node-next-tick.ts'

/* The program `dualgate`, up to where its commands are loaded. */

const words = process.argv.slice(2)
const isStart = serves(words)

// Without a listener SIGHUP ends a process. Nothing is read yet that it could reload.
if (isStart) process.on('SIGHUP', endsWithTerminal)
if (isStart) exitOnStop()
const hasWorkers = isStart && expectsWorkers(fileOf(words), process.env)
// A supervisor serves no requests.
if (isStart && !hasWorkers) settleTicks()
void run()

async function run(): Promise<void> {
  const endFirstWorker = hasWorkers ? startFirstWorker() : () => undefined
  onServing(endFirstWorker)
  const { runProcess } = await load(hasWorkers ? 'primary' : 'cli', () => import('./cli/cli.ts'))
  await runProcess()
  endFirstWorker()
}

/** A stop while the program is loaded leaves nothing to finish. */
function exitOnStop(): void {
  const exit = (): never => process.exit(0)
  const signals = ['SIGTERM', 'SIGINT'] as const
  for (const signal of signals) process.on(signal, exit)
  onStarting(() => {
    for (const signal of signals) process.off(signal, exit)
  })
}

/** The configuration file, as the command will read it from its words. */
function fileOf(words: readonly string[]): string {
  const at = words.findLastIndex(word => word === '--config' || word.startsWith('--config='))
  if (at < 0) return DEFAULT_CONFIG
  return words[at] === '--config' ? (words[at + 1] ?? '') : words[at]!.slice('--config='.length)
}
