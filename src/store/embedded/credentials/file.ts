import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/log/log.ts'
import { checkFormat } from '../file/format.ts'
import { CREDENTIALS_FILE } from '../file/identity.ts'
import { EmbeddedFile } from '../file/lmdb-file.ts'
import { EmbeddedCredentials } from './credentials.ts'
import { EmbeddedFactors } from './factors.ts'

/** The file of the credentials and second factors, open, and what is in it. */
export interface CredentialFile {
  readonly file: EmbeddedFile
  readonly credentials: EmbeddedCredentials
  readonly factors: EmbeddedFactors
}

/** Opens the file of a folder: one of its own, because it belongs into backups, and its changes hold up no login. */
export async function openCredentials(
  folder: string,
  timeout: number,
  clock: Clock,
  maxEntries: number,
  log?: Logger,
): Promise<CredentialFile> {
  const file = await EmbeddedFile.open(folder, timeout, CREDENTIALS_FILE, {
    clock,
    refused: 'new keys and second factors',
    ...(log !== undefined && { log }),
  })
  try {
    await checkFormat(file, 'keys and second factors')
    return await file.creating(() => ({
      file,
      credentials: new EmbeddedCredentials(file, clock, maxEntries),
      factors: new EmbeddedFactors(file),
    }))
  } catch (fault) {
    await file.close()
    throw fault
  }
}
