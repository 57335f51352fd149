// `node .build/release-notes.mjs v1.2.3` prints the section of the changelog for a tag. It fails if the tag is not the version
// of package.json, or if the changelog does not have the version.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const [tag = ''] = process.argv.slice(2)
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const changelog = readFileSync(join(root, '.github/CHANGELOG.md'), 'utf8')

/** The text below the heading of a version, to the next heading of that kind. */
const section = changelog
  .split(/^## /m)
  .slice(1)
  .find(part => /^\S+/.exec(part)?.[0] === version)
  ?.replace(/^.*\n/, '')
  .trim()

if (tag !== `v${version}`) throw new Error(`the tag is ${tag}, but package.json has version ${version}`)
if (!section) throw new Error(`.github/CHANGELOG.md has no section ${version}`)
process.stdout.write(`${section}\n`)
