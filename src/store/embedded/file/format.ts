import type { EmbeddedFile } from './lmdb-file.ts'

/** The layout of the files, raised when an older gateway could no longer read them. */
const FORMAT = 1

/** Throws if another version of dualgate wrote a file in a format of its own, and changes nothing then. `kept`: what it holds. */
export async function checkFormat(file: EmbeddedFile, kept: string): Promise<void> {
  const meta = file.table('meta')
  const key = Buffer.from('format')
  const format = await file.write(() => {
    const stored = meta.get(key)
    if (stored === undefined) meta.putSync(key, String(FORMAT))
    return stored === undefined ? FORMAT : Number(stored)
  })
  if (format !== FORMAT) {
    throw new Error(
      `${file.path} has format ${format}, this version of dualgate reads format ${FORMAT}: ` +
        `start the version that wrote it, or move the file away to begin with no ${kept}`,
    )
  }
}
