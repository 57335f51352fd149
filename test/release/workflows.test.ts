import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { STAGES, temporaryFolder, textOf } from '../support/image.ts'
import { pathOf } from '../support/installed.ts'
import { ROOT } from '../support/root.ts'

/* What runs on other machines: the workflows, and the notes of a release. */

const FOLDER = '.github/workflows'
const FILES = readdirSync(join(ROOT, FOLDER)).map(file => `${FOLDER}/${file}`)
const ACTIONLINT = pathOf('actionlint')

interface Job {
  'timeout-minutes'?: number
  permissions?: object
  env?: Record<string, string>
  steps: { uses?: string; run?: string; with?: Record<string, unknown> }[]
}

const jobsOf = (file: string): [name: string, job: Job][] => Object.entries(parse(textOf(file)).jobs)

t.test('every workflow is valid', { skip: ACTIONLINT === undefined && 'LEFT OUT: no actionlint on PATH' }, async t => {
  const files = FILES.map(file => join(ROOT, file))
  // Without the linters of other languages, which some machines have and others do not.
  const { status, stdout } = spawnSync(ACTIONLINT!, ['-shellcheck=', '-pyflakes=', ...files], { encoding: 'utf8' })
  t.equal(status, 0, stdout)
})

t.test('every action is pinned by the hash of a commit, the same one everywhere, and names its version', async t => {
  const pins = new Map<string, string>()
  for (const file of FILES) {
    for (const [, action, pin] of textOf(file).matchAll(/\buses: ([^\s@]+)(.*)$/gm)) {
      t.match(pin, /^@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${file}: ${action}`)
      t.equal(pins.get(action!) ?? pin, pin, action!)
      pins.set(action!, pin!)
    }
  }
  t.ok(pins.size >= 4)
})

t.test('every job has an end, no more rights than it needs, and leaves no credentials in the checkout', async t => {
  for (const file of FILES) {
    const { permissions } = parse(textOf(file))
    t.same(
      Object.values(permissions).filter(right => right !== 'read'),
      [],
      file,
    )
    for (const [name, job] of jobsOf(file)) {
      t.ok(job['timeout-minutes']! <= 40, `${file}: ${name}`)
      for (const step of job.steps.filter(({ uses }) => uses?.startsWith('actions/checkout@')))
        t.equal(step.with?.['persist-credentials'], false, `${file}: ${name}`)
    }
  }
  const writing = jobsOf(`${FOLDER}/release.yml`).map(([name, { permissions = {} }]) => [
    name,
    Object.entries(permissions).flatMap(([right, kind]) => (kind === 'write' ? [right] : [])),
  ])
  t.same(Object.fromEntries(writing), {
    test: [],
    pack: [],
    digests: [],
    image: ['packages'],
    package: ['id-token'],
    name: ['packages', 'id-token'],
    notes: ['contents'],
  })
})

t.test('nothing is published before .ci/run has passed, and it passes with the Node of the image too', async t => {
  const release: Record<string, Job & { needs?: string | string[] }> = parse(textOf(`${FOLDER}/release.yml`)).jobs
  t.ok(release.test!.steps.some(({ run }) => run === 'bash .ci/run'))
  for (const [name, { needs = [] }] of Object.entries(release))
    t.ok(name === 'test' || [needs].flat().includes('test'), name)
  const versions: number[] = parse(textOf(`${FOLDER}/ci.yml`)).jobs.test.strategy.matrix.node
  const images = STAGES.map(([from]) => Number(/^node:(\d+)-slim\b/.exec(from!.rest)?.[1]))
  t.equal(images.length, 2)
  for (const version of images) t.ok(versions.includes(version), `Node ${version}`)
  const [oldest] = /\d+/.exec(JSON.parse(textOf('package.json')).engines.node)!
  t.ok(versions.includes(Number(oldest)), `Node ${oldest}`)
})

t.test('a release finds each digest once, and tests and builds its images from those bytes', async t => {
  const jobs = new Map(jobsOf(`${FOLDER}/release.yml`))
  const { steps } = jobs.get('digests')!
  const folder = t.testdir({ Dockerfile: textOf('Dockerfile'), output: '' })
  const output = join(folder, 'output')
  const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
  /** Runs the step with a registry that answers this. */
  const find = (answer: string): number | null => {
    const docker = `docker() { [[ "$*" = "buildx imagetools inspect "*" --format {{.Manifest.Digest}}" ]] && echo '${answer}'; }`
    const env = { ...process.env, GITHUB_OUTPUT: output }
    const script = `${docker}\n${steps.at(-1)!.run}`
    return spawnSync('bash', ['-eo', 'pipefail', '-c', script], { cwd: folder, env }).status
  }
  t.not(find(''), 0)
  t.equal(readFileSync(output, 'utf8'), '', 'no build from an unknown image')
  t.equal(find(digest), 0)
  const images = {
    base: 'node:26-slim',
    builder: 'moby/buildkit:buildx-stable-1',
    scanner: 'docker/buildkit-syft-scanner:stable-1',
  }
  const lines = Object.entries(images).map(([name, image]) => `${name}=${image}@${digest}\n`)
  t.equal(readFileSync(output, 'utf8'), lines.join(''))

  const { env, ...image } = jobs.get('image')!
  for (const name of Object.keys(images))
    t.equal(env?.[name.toUpperCase()], `\${{ needs.digests.outputs.${name} }}`, name)
  const builds = image.steps.flatMap(({ run }) => run ?? [])
  t.ok(builds.includes('bash .ci/image'), 'which takes BASE from the environment')
  t.match(textOf('.ci/image'), /^docker build \$\{BASE:\+--build-arg "BASE=\$BASE"\} /m)
  t.match(builds.at(-1), /buildx create .* --driver-opt "image=\$BUILDER"$/m)
  t.match(builds.at(-1), 'buildx build --build-arg "BASE=$BASE" --sbom "generator=$SCANNER" ')
  t.same(textOf('Dockerfile').match(/^(?:FROM|LABEL) .*$/gm), [
    'FROM $BASE AS build',
    'FROM $BASE',
    'LABEL org.opencontainers.image.base.name=$BASE',
  ])
})

/** A checkout at a version, with a changelog of its own. */
function checkout(
  t: Test,
  version: string,
  changelog: string,
): (tag: string) => { status: number | null; stdout: string } {
  const folder = temporaryFolder(t, 'release')
  for (const name of ['.build', '.github']) mkdirSync(join(folder, name))
  cpSync(join(ROOT, '.build/release-notes.mjs'), join(folder, '.build/release-notes.mjs'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }))
  writeFileSync(join(folder, '.github/CHANGELOG.md'), changelog)
  return tag => spawnSync(process.execPath, ['.build/release-notes.mjs', tag], { cwd: folder, encoding: 'utf8' })
}

t.test('the notes of a release are its part of the changelog', async t => {
  const changelog =
    '# Changelog\n\n## Unreleased\n\n- Later.\n\n## 1.1.0 (2026-11-22)\n\n### Read\n\n- New.\n\n## 1.1.0-rc.1\n\n- Old.\n'
  t.match(checkout(t, '1.1.0', changelog)('v1.1.0'), { status: 0, stdout: /^### Read\n\n- New\.\n$/ })
  t.match(checkout(t, '1.1.0-rc.1', changelog)('v1.1.0-rc.1'), { status: 0, stdout: /^- Old\.\n$/ })
})

t.test(
  'there is no release of another version than that of the package, nor without a part of the changelog',
  async t => {
    const changelog = '# Changelog\n\n## 1.1.0\n\n- New.\n\n## 1.0.0\n'
    for (const [version, tag] of [
      ['1.1.0', 'v1.2.0'],
      ['1.1.0', '1.1.0'],
      ['1.0.0', 'v1.0.0'],
      ['1.2.0', 'v1.2.0'],
    ] as const)
      t.match(checkout(t, version, changelog)(tag), { status: 1, stdout: '' }, `${tag} at ${version}`)
  },
)

t.test('the scripts of the workflows are valid', async t => {
  for (const file of readdirSync(join(ROOT, '.ci'))) {
    execFileSync('bash', ['-n', join(ROOT, '.ci', file)])
    t.match(
      readFileSync(join(ROOT, '.ci', file), 'utf8'),
      /^#!\/usr\/bin\/env bash\n(?:#.*\n)+set -euo pipefail\n/,
      file,
    )
  }
})

t.test(
  'the package is built by a job without rights, and the job that may publish runs no script of any package',
  async t => {
    const jobs = new Map(jobsOf(`${FOLDER}/release.yml`))
    const runsOf = (name: string): string[] => jobs.get(name)!.steps.flatMap(({ run }) => run ?? [])
    const { steps, permissions } = jobs.get('pack')!
    t.same(permissions, { contents: 'read' })
    t.match(runsOf('pack').join('\n'), /npm pack/)
    t.equal(steps.at(-1)?.with?.name, 'package')
    const publish = runsOf('package').filter(run => /^npm /m.test(run))
    t.match(publish, [/^npm publish "\.\/\$FILE" --ignore-scripts --provenance /])
    t.equal(publish.length, 1)
    t.match(runsOf('package').join('\n'), /sha256sum --check/)
    for (const [name, job] of jobs) {
      if (!('id-token' in (job.permissions ?? {}))) continue
      t.notMatch(
        job.steps.map(({ uses = '', run = '' }) => `${uses}\n${run}`).join('\n'),
        /checkout|npm (?:ci|install|run|pack)/,
        name,
      )
    }
  },
)
