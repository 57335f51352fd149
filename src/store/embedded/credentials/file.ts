import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log/log.ts'
import { EmbeddedFile } from '../file/file.ts'
import { checkFormat } from '../file/format.ts'
import { EmbeddedCredentials } from './credentials.ts'

const FILE_NAME = 'credentials.mdb'

/** The file of the credentials, open, and what is in it. */
export interface CredentialFile {
  readonly file: EmbeddedFile
  readonly credentials: EmbeddedCredentials
}

/** Opens the file of a folder: one of its own, because it belongs into backups, and its changes hold up no login. */
export async function openCredentials(
  folder: string,
  timeout: number,
  clock: Clock,
  maxEntries: number,
  log?: Logger,
): Promise<CredentialFile> {
  const file = await EmbeddedFile.open(folder, timeout, FILE_NAME, {
    clock,
    refused: 'new keys',
    ...(log !== undefined && { log }),
  })
  try {
    await checkFormat(file, 'keys')
    return { file, credentials: await file.creating(() => new EmbeddedCredentials(file, clock, maxEntries)) }
  } catch (fault) {
    await file.close()
    throw fault
  }
}
