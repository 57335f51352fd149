import { createInterface } from 'node:readline'
import { openDeleter } from './tracking-actors.ts'

/** The deleter of tracking-interleavings.test.ts in a process of its own: `[id, 'create']` and `[id, 'end', session, way]`. */

const deleter = await openDeleter({ url: process.argv[2]! })
const answer = (id: number, value: unknown): void => void process.stdout.write(`${JSON.stringify([id, value])}\n`)

for await (const line of createInterface({ input: process.stdin })) {
  const [id, verb, session, way] = JSON.parse(line)
  void (verb === 'create' ? deleter.create() : deleter.end(session, way)).then(value => answer(id, value))
}
await deleter.close()
