import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../src/base/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts'
import { freshClone, startedBy } from './support/clone.ts'
import { documentText, README } from './support/documents.ts'
import { LINK_PACKAGES, npmBut } from './support/image.ts'
import { ROOT } from './support/root.ts'
import { ANSWERS, blocksAt, COMMANDS, expectPromises, initiated, openShell, runScript } from './support/shell.ts'
import { PATIENCE, until } from './support/until.ts'

/*
 * What a newcomer does first: the blocks of the README in their order, and the login of an administrator. The last two blocks, of
 * a folder with the package, are in release/package.test.ts.
 */

const BLOCKS = COMMANDS.filter(({ file }) => file === README)

/**
 * `npm` in a clone. Packages and what was built come from this tree: a bare clone is installed, built and tested by `.ci/run` and
 * by release/container.test.ts. A test run inside of this one would start itself again, so it lists its files instead.
 */
const NPM = npmBut({
  ci: LINK_PACKAGES,
  start: `cp -r '${join(ROOT, 'dist')}' . && command npm start --ignore-scripts`,
  test: 'command npm test --ignore-scripts -- list',
})

t.test('the first blocks of the README start the gateway, and run the tests, in a clone', async t => {
  t.same(
    BLOCKS.slice(0, 2).map(({ language, text }) => [language, text]),
    [
      ['sh', 'npm ci && npm start\n'],
      ['sh', 'npm ci && npm test\n'],
    ],
  )
  t.same(
    BLOCKS.slice(2).map(({ heading }) => heading),
    ['See it work', 'In a folder of your own', 'In a folder of your own'],
  )
  const before = documentText(README).split('```sh\n')[0]!
  t.ok(before.split('\n').length <= 10, 'near the top')
  const steps = readFileSync(join(ROOT, '.ci/run'), 'utf8')
  for (const command of ['npm ci', 'npm test'])
    t.match(steps, new RegExp(`(step|run_tests) ${command}\\b`), '.ci/run runs it as it stands')
})

t.test('the README shows a login, a forwarded request, a forged identity and the end of a session', async t => {
  const [start, test, transcript] = BLOCKS.map(({ text }) => text)
  const environment = { PATH: process.env.PATH }
  const clone = freshClone(t)
  const gateway = await startedBy(t, {
    folder: clone,
    script: `${NPM}\n${start}`,
    environment,
    last: /^administrators sign in at /m,
  })
  t.match(gateway.output(), /password: \S+/)
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-euc', `${NPM}\n${test}`], {
    cwd: clone,
    env: { ...environment, HOME: process.env.HOME },
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  const files = readdirSync(join(clone, 'test'), { recursive: true, encoding: 'utf8' })
  t.same(
    stdout.match(/^test\/.*\.test\.ts$/gm)?.sort(),
    files
      .filter(file => file.endsWith('.test.ts') && !file.startsWith('release/'))
      .map(file => `test/${file}`)
      .sort(),
    'all tests are found, but those of a release',
  )
  await runScript(t, gateway, transcript!)
  await gateway.end()
})

async function answerOf(data: string, captchaId: string): Promise<string> {
  const store = await openEmbeddedStore(data, systemClock, PATIENCE)
  try {
    const answer = await store.captchas.take('BUSINESS', captchaId)
    await store.captchas.put('BUSINESS', captchaId, answer!, Date.now() + 60_000)
    return answer!
  } finally {
    await store.close()
  }
}

t.test(
  'an administrator who follows the guide signs in and out, and a new account signs in with a new password',
  async t => {
    const gateway = await initiated(t)
    const password = /password\W+(\S+)/i.exec(gateway.output())?.[1]
    t.ok(password, 'the first account is printed')
    const script = ['Sign administrators in', 'Finish a login in steps'].flatMap(blocksAt).join('\n')
    const { child, printed } = openShell(gateway, script)
    const answers = join(gateway.folder, ANSWERS)
    const captchaIds = (): string[] =>
      existsSync(answers)
        ? [...readFileSync(answers, 'utf8').matchAll(/"captcha_id":"([^"]+)"/g)].map(([, id]) => id!)
        : []
    const answer = async (nth: number) => answerOf(join(gateway.folder, 'data'), await until(() => captchaIds()[nth]))
    child.stdin!.write(`${await answer(0)}\n${password}\n`)
    child.stdin!.end(`${await answer(1)}\nchosen by june herself\n`)
    const [code] = await once(child, 'close')
    t.equal(code, 0, 'every command succeeds')
    t.ok(existsSync(join(gateway.folder, 'data/captcha.png')))
    expectPromises(t, script, printed())
  },
)

t.test('CONTRIBUTING explains exactly the packages in use', async t => {
  const text = readFileSync(join(ROOT, '.github/CONTRIBUTING.md'), 'utf8')
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  )
  const [installed, bundled] = [/^These packages are installed/m, /^These are in the bundle/m].map(head => {
    const [table] = text.slice(head.exec(text)!.index).split(/\n\n(?=[^|])/)
    return [...table!.matchAll(/^\| (`.*`) \| .+ \|$/gm)].map(([, names]) => names).join()
  })
  const forDevelopment = /^For development: (.*?)`overrides`/ms.exec(text)![1]!
  const namesIn = (words: string): string[] => [...words.matchAll(/`([^`]+)`/g)].map(([, name]) => name!).sort()
  t.same(namesIn(installed!), [...Object.keys(dependencies), '@lmdb/lmdb-…'].sort())
  const lmdb = JSON.parse(readFileSync(join(ROOT, 'node_modules/lmdb/package.json'), 'utf8'))
  t.same(optionalDependencies, lmdb.optionalDependencies, 'the native code of lmdb, in its version')
  t.same(
    namesIn(bundled! + forDevelopment).sort(),
    Object.keys(devDependencies)
      .filter(name => !name.startsWith('@types/'))
      .sort(),
  )
})
