import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../src/clock.ts'
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts'
import { newcomerFolder, startGateway } from './support/process.ts'
import { ROOT } from './support/root.ts'

/* The README's commands are run as they stand, and print what it says. */

const README = readFileSync(join(ROOT, 'README.md'), 'utf8')
const SCRIPT = [...README.matchAll(/^```bash\n(.*?)^```$/gms)].map(([, block]) => block).join('\n')

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

t.test('a newcomer who follows the README signs in, is served, and is refused after the logout', async t => {
  const { folder, remove } = newcomerFolder()
  t.teardown(remove)
  const gateway = await startGateway(folder)
  t.teardown(() => gateway.end('SIGKILL'))
  const password = /password\W+(\S+)/i.exec(gateway.output())?.[1]
  t.ok(password, 'the first account is printed')
  mkdirSync(join(folder, 'data'), { recursive: true })

  const transcript = join(folder, 'transcript')
  const prelude = `curl() { command curl "$@" | tee -a ${transcript}; echo >> ${transcript}; }\n`
  const commands = SCRIPT.replaceAll('http://localhost:8080', gateway.url).replaceAll(
    'http://localhost:8081',
    gateway.internal,
  )
  const bash = spawn('bash', ['-euo', 'pipefail', '-c', prelude + commands], {
    cwd: folder,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const captchaId = await until(
    () => existsSync(transcript) && /"captcha_id":"([^"]+)"/.exec(readFileSync(transcript, 'utf8'))?.[1],
  )
  bash.stdin.end(`${await answerOf(join(folder, 'data'), captchaId)}\n${password}\n`)
  const [code] = await once(bash, 'exit')
  t.equal(code, 0, 'every command succeeds')
  t.ok(existsSync(join(folder, 'data/captcha.png')))

  let printed = readFileSync(transcript, 'utf8')
  const promised = [...SCRIPT.matchAll(/^# (\{.*)$/gm)].map(([, line]) => line!)
  t.ok(promised.length >= 7)
  for (const line of promised) {
    for (const part of line.split('…').map(part => part.trim())) {
      const at = printed.indexOf(part)
      t.ok(at >= 0, `the README says ${line}`)
      printed = printed.slice(at + part.length)
    }
  }
})

t.test('CONTRIBUTING explains exactly the packages in use', async t => {
  const text = readFileSync(join(ROOT, '.github/CONTRIBUTING.md'), 'utf8')
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const rows = [...text.matchAll(/^\| (`.*`) \| .+ \|$/gm)].map(([, names]) => names).join()
  const forDevelopment = /^For development: (.*?)`overrides`/ms.exec(text)![1]!
  const namesIn = (words: string): string[] => [...words.matchAll(/`([^`]+)`/g)].map(([, name]) => name!).sort()
  t.same(namesIn(rows), Object.keys(dependencies).sort())
  t.same(
    namesIn(forDevelopment),
    Object.keys(devDependencies)
      .filter(name => !name.startsWith('@types/'))
      .sort(),
  )
})
