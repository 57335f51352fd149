import type { Page } from 'playwright-core'
import t from 'tap'
import { codeAt, wrongCode } from '../second-factor/factor-fixture.ts'
import { withoutBrowser } from '../support/browser.ts'
import type { Answer } from '../support/client.ts'
import {
  arrive,
  besideFailingSide,
  bring,
  choose,
  confirm,
  keep,
  openInTrouble,
  openPage,
  signIn,
} from '../support/console.ts'
import { type Fixture, openFixture, someone } from '../support/gateway-fixture.ts'
import { encrypted, makeOwnKey } from '../support/keys.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { until } from '../support/until.ts'
import { find, openAccounts, openAnd, PASSWORD, pagesOf } from './accounts-fixture.ts'
import { type Language, textOf } from './texts.ts'

/* Keys on the page: those of its user, and those of all users for administrators. */

const ORDERS = '/api/v1/b/orders'
/** As many as a user can have here. */
const MOST = 3

/** Whether a key opens a path that a session of its owner opens. */
const opens = async (fixture: Fixture, key: string, path = ORDERS): Promise<boolean> =>
  isAdmitted(await fixture.get(path, key))

/** An answer of a backend has no envelope. */
const isAdmitted = (answer: Answer): boolean => answer.json().code === undefined

/** The rows of the own keys, and of all keys of a side. */
const ownKeys = (page: Page) => page.locator('.own-keys tbody tr')
const allKeys = (page: Page) => page.locator('.key-list tbody tr')

const shownKey = async (page: Page): Promise<string> =>
  (await page.locator('dialog .secret code').first().textContent()) ?? ''

/** What `curl` would send by the command that the page shows. */
async function readCommand(page: Page): Promise<{ url: string; headers: Record<string, string> }> {
  const command = (await page.locator('dialog .command code').textContent()) ?? ''
  const [, name, value, url] = /^curl -H "([\w-]+): ([^"]+)" (\S+)$/.exec(command)!
  return { url: url!, headers: { [name!]: value! } }
}

t.test('keys on the page', { skip: withoutBrowser }, async t => {
  const accounts = await openAccounts(t, {
    config: { keys: { business: { max_per_user: MOST }, consumer: {} } },
    upstreams: [
      { name: 'guarded', match: '/api/v1/b/guarded', target: 'builtin:echo', permission: 'orders:read' },
      { name: 'stock', match: '/api/v1/b/stock', target: 'builtin:echo', permission: 'stock:read' },
    ],
  })
  const { visit, fixture, administer, add } = accounts
  const keysOf = (user_id: string) => fixture.store.credentials.of('BUSINESS', user_id)

  for (const language of ['en', 'zh'] as Language[]) {
    t.test(`a user who reads ${language} adds a key, uses, rotates and revokes it`, async t => {
      const text = (name: string, values?: Record<string, string | number>) => textOf(language, name, values)
      const visitor = await visit(t)
      const { page } = visitor
      const account = await add({ nickname: 'Ann', permissions: ['orders:*', 'stock:read'] })
      await bring(fixture, visitor, await fixture.signIn(account.username, PASSWORD))
      await choose(page, language)
      await page.locator('.own-keys .empty', { hasText: text('no_own_keys') }).waitFor()
      t.same(await obstaclesEverywhere(page, 'no own keys'), [])

      await page.click('[data-key=add-key]')
      await page.waitForSelector('#key-name')
      t.equal(await page.evaluate(() => document.activeElement?.id), 'key-name')
      t.equal(await page.inputValue('#key-days'), '90')
      t.equal(await page.getAttribute('#key-days', 'max'), '365')
      t.notOk(await page.isVisible('#other-permissions'), 'all permissions, unless the user chooses')
      await page.fill('#key-name', 'nightly report')
      await page.fill('#key-days', '7')
      await page.check('#only-permissions')
      t.same(await page.locator('dialog .options label').allTextContents(), ['orders:*', 'stock:read'])
      await page.fill('#other-permissions', 'orders:read')
      await page.fill('#key-paths', `${ORDERS}/\n\n /api/v1/b/guarded `)
      await page.fill('#key-addresses', '127.0.0.0/8')
      await page.fill('#current-password', PASSWORD)
      await confirm(page)
      await page.locator('dialog .fault', { hasText: text('paths') }).waitFor()
      t.same(await obstaclesEverywhere(page, 'add key'), [])
      await page.fill('#key-paths', `${ORDERS}\n\n /api/v1/b/guarded `)
      await page.fill('#current-password', 'wrong')
      await confirm(page)
      await page
        .locator('dialog .fault', { hasText: language === 'en' ? 'Wrong username' : '用户名或密码错误' })
        .waitFor()
      await page.fill('#current-password', PASSWORD)
      await page.fill('#other-permissions', 'orders:read, users:read')
      await confirm(page)
      await page.locator('dialog .fault', { hasText: 'users:read' }).waitFor()
      await page.fill('#other-permissions', 'orders:read')
      await confirm(page)

      await page.waitForSelector('dialog #is-kept')
      const first = await shownKey(page)
      t.match(first, /^dgb_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/)
      t.same(await obstaclesEverywhere(page, 'new key'), [])
      const command = await readCommand(page)
      t.match(command, { url: `${fixture.url}${ORDERS}`, headers: { Authorization: `Bearer ${first}` } })
      t.ok(isAdmitted(await fixture.call({ path: new URL(command.url).pathname, headers: command.headers })))
      await page.click('dialog .secret')
      for (let presses = 0; presses < 3; presses++) await page.keyboard.press('Escape')
      await confirm(page)
      t.equal(await shownKey(page), first, 'it stays until the user confirms that it is kept')
      t.equal(await page.locator('dialog .close').count(), 0)
      await keep(page)
      t.notOk((await page.textContent('body'))?.includes(first))

      t.ok(await opens(fixture, first, '/api/v1/b/guarded'))
      t.notOk(await opens(fixture, first, '/api/v1/b/stock'))
      await ownKeys(page)
        .filter({ hasText: text('limit_permissions', { list: 'orders:read' }) })
        .filter({ hasText: text('limit_paths', { list: `${ORDERS}, /api/v1/b/guarded` }) })
        .filter({ hasText: text('limit_addresses', { list: '127.0.0.0/8' }) })
        .waitFor()
      await until(async () => (await keysOf(account.id)).some(({ usedAt }) => usedAt !== null))
      await page.reload()
      await ownKeys(page).first().waitFor()
      t.notOk((await ownKeys(page).textContent())?.includes(text('never_used')))
      await page.locator('.own-keys .link').click()
      await page.locator('dialog .facts', { hasText: first.slice(4, 16) }).waitFor()
      t.same(await obstaclesEverywhere(page, 'about a key'), [])
      await page.keyboard.press('Escape')

      await ownKeys(page)
        .getByRole('button', { name: text('rotate') })
        .click()
      await page.fill('#current-password', PASSWORD)
      t.same(await obstaclesEverywhere(page, 'rotate key'), [])
      await confirm(page)
      await page.waitForSelector('dialog #is-kept')
      const second = await shownKey(page)
      const [until24] = (await keysOf(account.id)).filter(({ isSucceeded }) => isSucceeded)
      t.ok(until24!.expiresAt <= fixture.now() + 24 * 3_600_000)
      await page.locator('[data-key=old-key]', { hasText: /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/ }).waitFor()
      t.same(await obstaclesEverywhere(page, 'rotated key'), [])
      await keep(page)
      t.ok((await opens(fixture, first)) && (await opens(fixture, second)))
      const old = ownKeys(page).filter({ hasText: text('key_replaced') })
      t.equal(await old.count(), 1)
      t.equal(await old.getByRole('button', { name: text('rotate') }).count(), 0, 'it is rotated once')
      t.same(await obstaclesEverywhere(page, 'own keys'), [])

      for (const key of [first, second]) {
        await page.click(`[data-key="revoke ${key.slice(4, 16)}"]`)
        if (key === first) {
          t.same(await obstaclesEverywhere(page, 'revoke key'), [])
          await page.keyboard.press('Escape')
          t.ok(await opens(fixture, first), 'nothing before the confirmation')
          await page.click(`[data-key="revoke ${key.slice(4, 16)}"]`)
        }
        await confirm(page)
        // The message about the first key is still there when the second one is revoked.
        await page.locator(`[data-key="revoke ${key.slice(4, 16)}"]`).waitFor({ state: 'detached' })
        await page.locator('#notice', { hasText: text('revoked', { name: 'nightly report' }) }).waitFor()
        t.notOk(await opens(fixture, key))
      }
      await page.locator('.own-keys .empty').waitFor()
      t.equal(visitor.complaints.length, 1, 'the status of the permission that the user does not hold')
      t.same(visitor.strayed, [])
    })
  }

  t.test('a user with a second factor proves a key by a code, too', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { username } = await add()
    const token = await fixture.signIn(username, PASSWORD)
    const current_password = await encrypted(fixture, PASSWORD)
    const factor = '/api/v1/b/account/second-factor'
    const { secret } = (await fixture.post(`${factor}/setup`, { current_password }, token)).json().data
    await fixture.post(`${factor}/confirm`, { code: codeAt(secret, fixture.now()) }, token)
    await bring(fixture, visitor, token)
    await page.click('[data-key=add-key]')
    await page.fill('#key-name', 'with a code')
    await page.fill('#current-password', PASSWORD)
    await page.fill('#code', wrongCode(secret, fixture.now()))
    t.same(await obstaclesEverywhere(page, 'add key with a code'), [])
    await confirm(page)
    await page.locator('dialog .fault', { hasText: 'Wrong code' }).waitFor()
    t.equal(await page.inputValue('#code'), '')
    await accounts.fillNextCode(page, secret)
    await confirm(page)
    await page.waitForSelector('dialog #is-kept')
    const { url } = await readCommand(page)
    t.equal(url, `${fixture.url}/api/v1/…`, 'no path is known that it opens')
    t.ok(await opens(fixture, await shownKey(page)))
    await keep(page)
    await page.locator('.own-keys td.limits', { hasText: 'none' }).waitFor()

    await page.click('.own-keys [data-key^=rotate]')
    await page.fill('#current-password', PASSWORD)
    await accounts.fillNextCode(page, secret)
    await confirm(page)
    await keep(page)
    // The new key is shown before the list is loaded again.
    await ownKeys(page)
      .filter({ hasText: textOf('en', 'key_replaced') })
      .waitFor()
    t.equal(await ownKeys(page).count(), 2)
    t.same(visitor.complaints, [])
  })

  t.test('who has as many keys as a user can have is offered no other, and rotates them all the same', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { username } = await add()
    const token = await fixture.signIn(username, PASSWORD)
    for (let i = 0; i < MOST; i++) await makeOwnKey(fixture, token, { name: `key ${i}` }, PASSWORD)
    await bring(fixture, visitor, token)
    await page.locator('.own-keys', { hasText: `You have ${MOST} keys` }).waitFor()
    t.equal(await page.locator('[data-key=add-key]').count(), 0)
    t.same(await obstaclesEverywhere(page, 'as many keys as possible'), [])
    await page.locator('.own-keys [data-key^=rotate]').first().click()
    await page.fill('#current-password', PASSWORD)
    await confirm(page)
    await keep(page)
    await ownKeys(page)
      .filter({ hasText: textOf('en', 'key_replaced') })
      .waitFor()
    t.equal(await ownKeys(page).count(), MOST + 1)
    t.same(visitor.complaints, [])
  })

  t.test('an administrator finds the keys of a user, and revokes one', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const users = await Promise.all(Array.from({ length: 5 }, () => add()))
    for (const { username } of users) {
      const token = await fixture.signIn(username, PASSWORD)
      for (const name of ['first', 'second', 'third']) await makeOwnKey(fixture, token, { name }, PASSWORD)
    }
    const [user] = users
    await signIn(fixture, visitor)
    await openPage(page, 'keys')
    await page.locator('.panel header', { hasText: /\d+ found/ }).waitFor()
    t.equal(await allKeys(page).count(), 10)
    t.same(await obstaclesEverywhere(page, 'keys'), [])
    await page.click('[data-key=next]')
    await page.locator('.pages', { hasText: 'Page 2 of ' }).waitFor()
    await page.fill('#key-owner', user!.id)
    await page.keyboard.press('Enter')
    await page.locator('.panel header', { hasText: '3 found' }).waitFor()
    t.match(page.url(), `#keys?user_id=${user!.id}`)
    t.same(await page.locator('.key-list .who .link').allTextContents(), ['third', 'second', 'first'])
    t.same(await allKeys(page).locator('td:nth-child(5)').allTextContents(), ['the user', 'the user', 'the user'])
    t.same(await obstaclesEverywhere(page, 'keys of a user'), [])
    const second = allKeys(page).filter({ hasText: 'second' })
    await second.getByRole('button', { name: 'Revoke' }).click()
    await page.locator('dialog', { hasText: `It belongs to ${user!.username}.` }).waitFor()
    t.same(await obstaclesEverywhere(page, 'revoke a key of a user'), [])
    await confirm(page)
    await page.locator('.panel header', { hasText: '2 found' }).waitFor()
    t.equal((await keysOf(user!.id)).length, 2)

    await page.click('[data-key=reset]')
    await page.locator('.pages', { hasText: 'Page 1 of ' }).waitFor()
    await page.goBack()
    await page.locator('.panel header', { hasText: '2 found' }).waitFor()
    await page.waitForFunction(id => document.querySelector<HTMLInputElement>('#key-owner')?.value === id, user!.id)
    await page.click('.sides .CONSUMER')
    t.match(page.url(), /#consumer-keys$/)
    await page.locator('.empty', { hasText: 'There are no keys' }).waitFor()
    await page.fill('#key-owner', 'unknown')
    await page.click('[data-key=apply]')
    await page.locator('.empty', { hasText: 'This user has no keys' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'no keys'), [])

    await openPage(page, 'accounts')
    await find(page, user!)
    await page.click('.account-list .link')
    await page.locator('dialog footer a', { hasText: 'Keys' }).click()
    await page.locator('.panel header', { hasText: '2 found' }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('an administrator adds a service account of either side, and makes a key for it and for no other', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    for (const [type, base, path, prefix] of [
      ['BUSINESS', 'sys', '/api/v1/b/guarded', 'dgb_'],
      ['CONSUMER', 'client', '/api/v1/c/orders', 'dgc_'],
    ] as const) {
      const program = { username: someone(), id: '' }
      const person = await add({}, `${base}/account`)
      await openPage(page, 'accounts')
      await page.click(`.sides .${type}`)
      await page.click('[data-key=add]')
      await page.fill('#account-username', program.username)
      await page.fill('#account-permissions', 'orders:*')
      await page.check('#type-password')
      await page.check('#is-service')
      t.notOk(await page.isVisible('#new-password'), 'it has no password')
      await confirm(page)
      await page.locator('#notice', { hasText: `The account ${program.username} is added.` }).waitFor()
      const other = await find(page, person)
      t.equal(await other.getByRole('button', { name: 'Make a key' }).count(), 0, 'a person makes their own')
      const row = await find(page, program)
      t.same(await row.locator('.actions button').allTextContents(), ['Make a key…', 'Edit…'])
      await page.click('.account-list .link')
      const actions = ['Sessions…', 'Journal', 'Keys', 'Make a key…', 'Edit…', 'Remove account…']
      t.same(await page.locator('dialog footer > *').allTextContents(), actions)
      await page.keyboard.press('Escape')

      await openAnd(page, 'Make a key')
      await page.fill('#key-name', 'nightly')
      await page.check('#only-permissions')
      await page.check('[data-key="permission orders:*"]')
      await page.fill('#current-password', 'correct horse 1')
      t.same(await obstaclesEverywhere(page, 'make a key'), [])
      await confirm(page)
      await page.waitForSelector('dialog #is-kept')
      const key = await shownKey(page)
      t.ok(key.startsWith(prefix))
      t.ok(await opens(fixture, key, path))
      await keep(page)
      await page.click('.account-list .link')
      await page.locator('dialog footer a', { hasText: 'Keys' }).click()
      await allKeys(page).filter({ hasText: 'nightly' }).waitFor()
      t.equal(await allKeys(page).locator('td:nth-child(5)').textContent(), '1you')
      await page.click(`[data-key^="revoke "]`)
      await confirm(page)
      await page.locator('.empty').waitFor()
      t.notOk(await opens(fixture, key, path))
    }
    t.same(visitor.complaints, [])
  })

  t.test('the journal names keys by their ids', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { id, username } = await add()
    const token = await fixture.signIn(username, PASSWORD)
    const keys = '/api/v1/b/account/keys'
    const first = await makeOwnKey(fixture, token, {}, PASSWORD)
    const current_password = await encrypted(fixture, PASSWORD)
    const rotated = await fixture.post(`${keys}/rotate`, { id: first.id, current_password }, token)
    const second = rotated.json().data
    await fixture.post(`${keys}/revoke`, { id: second.id }, token)
    await signIn(fixture, visitor)
    await page.goto(`${fixture.url}/console/#journal?login_id=${id}`)
    const entries = page.locator('.journal-list tbody tr')
    const detail = (event: string) => entries.filter({ hasText: event }).locator('td:nth-child(5)').textContent()
    await entries.filter({ hasText: 'Key revoked' }).waitFor()
    t.equal(await detail('Key added'), `Key ${first.id}`)
    t.equal(await detail('Key rotated'), `Key ${first.id} → ${second.id}`)
    t.equal(await detail('Key revoked'), `Key ${second.id}`)
    t.same(await obstaclesEverywhere(page, 'journal of keys'), [])
    await entries.filter({ hasText: 'Key rotated' }).locator('.who .link').click()
    t.match(await page.locator('dialog .facts').textContent(), `Key id${first.id}New key${second.id}`)
    t.same(visitor.complaints, [])
  })

  t.test('users are offered nothing about keys that would be refused', async t => {
    const other = await add()
    await makeOwnKey(fixture, await fixture.signIn(other.username, PASSWORD), {}, PASSWORD)
    const program = { username: someone(), id: '' }
    const added = await administer('sys/account/add', { username: program.username, service: true })
    program.id = added.data.id
    await t.test('without a permission for the keys of others', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(fixture, visitor, ['sys:account:*'])
      t.same(await pagesOf(page), ['Accounts', 'My account'])
      const row = await find(page, program)
      t.same(await row.locator('.actions button').allTextContents(), ['Edit…'])
      await page.click('.account-list .link')
      t.same(await page.locator('dialog footer > *').allTextContents(), ['Edit…', 'Remove account…'])
      t.same(visitor.complaints, [])
    })
    await t.test('with the permission to see them', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      await arrive(fixture, visitor, ['sys:key:page', 'sys:account:page'])
      t.same(await pagesOf(page), ['Accounts', 'Keys', 'My account'])
      await find(page, program)
      t.equal(await page.locator('.account-list .actions button').count(), 0)
      await page.goto(`${fixture.url}/console/#keys?user_id=${other.id}`)
      await allKeys(page).first().waitFor()
      t.equal(await allKeys(page).locator('td').count(), 5, 'no column for actions')
      t.equal(await page.locator('.key-list [data-key^=revoke]').count(), 0)

      // A session of a backend has no account here that could prove a request.
      await openPage(page, 'account')
      await page.waitForSelector('.panels .facts')
      await page.locator('.own-keys').waitFor({ state: 'hidden' })
      t.same(visitor.complaints, [])
    })
    await t.test('where programs have no keys', async t => {
      const visitor = await visit(t)
      const { page } = visitor
      const without = await openFixture(t, { config: { keys: { business: 'off' } } })
      await signIn(without, visitor)
      t.same(await pagesOf(page), ['Sessions', 'Accounts', 'Journal', 'My account'])
      await openPage(page, 'account')
      await page.locator('.own-sessions tbody tr').first().waitFor()
      t.equal(await page.locator('.own-keys').count(), 0)
      t.same(visitor.complaints, [])
    })
  })

  t.test('keys that cannot be loaded are reported as such, and loaded on request', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    for (const [name, path, loaded] of [
      ['keys', '**/sys/key/page*', '.key-list > *'],
      ['account', '**/b/account/keys', '.own-keys .empty, .own-keys table'],
    ] as const) {
      const { obstacles, left } = await openInTrouble(page, { name, path, loaded, step: `trouble ${name} of keys` })
      t.same(obstacles, [])
      t.equal(left, 0, name)
    }
  })

  t.test('beside a side that cannot be loaded stand no number and no pages of the other side', async t => {
    const visitor = await visit(t)
    await signIn(fixture, visitor)
    await openPage(visitor.page, 'keys')
    t.same(await besideFailingSide(visitor.page, '**/client/key/page*'), { found: '', pages: 0 })
  })

  t.test('on a narrow telephone all pages are reached, in both languages', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await page.setViewportSize({ width: 360, height: 780 })
    for (const language of ['en', 'zh'] as Language[]) {
      await choose(page, language)
      t.equal((await pagesOf(page)).length, 5)
      const hidden = await page.locator('nav').evaluate(nav => nav.scrollWidth - nav.clientWidth)
      t.equal(hidden, 0, `${language}: pixels that are cut off`)
    }
  })
})
