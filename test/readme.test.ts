import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../src/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts'
import { ROOT } from './support/root.ts'
import {
  ANSWERS,
  blocksAt,
  expectPromises,
  initiated,
  installedFolder,
  openShell,
  runScript,
  startedIn,
} from './support/shell.ts'

/* What a newcomer does first: the transcript of the README, and the login of an administrator. */

t.test('the README shows a login, a forwarded request, a forged identity and the end of a session', async t => {
  await runScript(t, await startedIn(t, installedFolder(t)), blocksAt('See it work').join('\n'))
})

async function answerOf(data: string, captchaId: string): Promise<string> {
  const store = await openEmbeddedStore(data, systemClock)
  try {
    const answer = await store.captchas.take('BUSINESS', captchaId)
    await store.captchas.put('BUSINESS', captchaId, answer!, Date.now() + 60_000)
    return answer!
  } finally {
    await store.close()
  }
}

async function until<T>(look: () => T | undefined | null | false): Promise<T> {
  for (let tries = 0; tries < 300; tries++) {
    const found = look()
    if (found) return found
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('it did not happen')
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
