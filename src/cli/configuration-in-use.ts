import type { Outcome } from '../process/control.ts'
import type { Accept, Loaded } from '../process/running-gateway.ts'
import { type FilesRead, recordFiles } from '../settings/files-read.ts'
import { BUILT_IN, type ConfigurationFile, type Fault, loadSettings } from '../settings/load.ts'
import type { Terminal } from './terminal.ts'

/** Returns the file to read, by the one in use; `BUILT_IN` before a start. */
export type FileAfter = (before: ConfigurationFile) => ConfigurationFile

/** The configuration of one gateway: a start reads it, and each reload reads it again. */
export class ConfigurationInUse {
  /** What the last reading found. */
  readonly files: FilesRead = new Map()
  readonly #fileAfter: FileAfter
  readonly #terminal: Pick<Terminal, 'environment' | 'cwd'>
  #file: ConfigurationFile = BUILT_IN
  /** Whether the last reading found no fault. */
  #isSound = false
  #isRefused = false

  constructor(fileAfter: FileAfter, terminal: Pick<Terminal, 'environment' | 'cwd'>) {
    this.#fileAfter = fileAfter
    this.#terminal = terminal
  }

  get file(): ConfigurationFile {
    return this.#file
  }

  /** Whether the last reload failed although the files have no fault. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** Throws `ConfigurationError` with every fault there is, and what `accept` throws. */
  load(report: (warning: Fault) => void, accept: Accept): Loaded {
    this.#isSound = false
    const file = this.#fileAfter(this.#file)
    const { environment, cwd } = this.#terminal
    const settings = recordFiles(this.files, () =>
      loadSettings(file, environment, cwd, ({ settings, warnings }) => {
        this.#isSound = true
        warnings.forEach(report)
        accept(settings)
      }),
    )
    return { file, settings }
  }

  /** A gateway serves with what was read from this file. */
  use(file: ConfigurationFile): void {
    this.#file = file
  }

  /** A reload has ended. */
  settle(outcome: Outcome): void {
    this.#isRefused = outcome.fault !== null && this.#isSound
    if (outcome.fault === null && outcome.file !== null) this.use(outcome.file)
  }
}
