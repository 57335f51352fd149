import type { Route } from 'playwright-core'
import t from 'tap'
import { codeAt } from '../second-factor/factor-fixture.ts'
import { withoutBrowser } from '../support/browser.ts'
import {
  arrive,
  besideFailingSide,
  bring,
  confirm,
  holdAnswer,
  keep,
  openInTrouble,
  openPage,
  sendSignIn,
  signIn,
} from '../support/console.ts'
import { sm2KeyPath, someone } from '../support/gateway-fixture.ts'
import { encrypt } from '../support/login-work.ts'
import { obstaclesEverywhere } from '../support/obstacles.ts'
import { until } from '../support/until.ts'
import {
  find,
  isLive,
  OWN_PASSWORD,
  openAccounts,
  openAnd,
  PASSWORD,
  pagesOf,
  signInConsumer,
} from './accounts-fixture.ts'
import { factorSteps } from './factor-steps.ts'
import { textOf } from './texts.ts'

/* Accounts on the page, against the real gateway: the required steps of a login, the own factor, and what administrators do. */

t.test('accounts on the page', { skip: withoutBrowser }, async t => {
  const accounts = await openAccounts(t)
  const { visit, fixture, administer, add } = accounts
  factorSteps(t, accounts)

  t.test('a slow answer from before a change does not bring back the account that it has removed', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add()
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    const row = await find(page, account)
    const held = await holdAnswer(page, '**/sys/account/page*')
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.fill('#account-nickname', 'edited')
    await confirm(page)
    await held.answered
    await openAnd(page, 'Remove')
    await confirm(page)
    await row.waitFor({ state: 'detached' })
    await held.deliver()
    t.equal(await row.count(), 0)
    await page.locator('.panel header', { hasText: /(?:^|\D)0 found/ }).waitFor()
  })

  t.test('an administrator finds, edits, locks, resets and removes accounts', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add({ roles: ['operator'] })
    const session = async () => fixture.signIn(account.username, PASSWORD)
    let token = await session()
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    const row = await find(page, account)

    await row.getByRole('button', { name: 'Edit' }).click()
    await page.fill('#account-nickname', '新名字')
    await confirm(page)
    await row.filter({ hasText: '新名字' }).waitFor()
    t.ok(await isLive(fixture, token), 'a name ends no session')
    await row.getByRole('button', { name: 'Edit' }).click()
    t.ok(await page.isChecked('[data-key="role operator"]'), 'known roles are a list')
    t.notOk(await page.isChecked('[data-key="role SUPER_ADMIN"]'))
    t.notOk(await page.isVisible('#roles-meant'))
    await page.fill('#account-roles', 'clerk，auditor')
    await page.locator('dialog .advice', { hasText: 'The gateway does not know: clerk, auditor.' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'unknown roles'), [])
    await page.selectOption('#account-status', 'LOCKED')
    await confirm(page)
    t.ok(await page.isVisible('#roles-meant'), 'a role that may be mistyped is not sent before it is confirmed')
    await page.check('#roles-meant')
    await confirm(page)
    await row.filter({ hasText: 'operator, clerk, auditor' }).locator('.tag', { hasText: 'Locked' }).waitFor()
    t.notOk(await isLive(fixture, token), 'other rights end them')
    await page.selectOption('[data-key=status]', 'ACTIVE')
    await page.locator('.empty', { hasText: 'No account matches' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'no account'), [])
    await page.selectOption('[data-key=status]', 'LOCKED')
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.selectOption('#account-status', 'ACTIVE')
    await confirm(page)
    await page.locator('.empty', { hasText: 'No account matches' }).waitFor()
    await page.selectOption('[data-key=status]', '')

    token = await session()
    await row.getByRole('button', { name: 'Reset password' }).click()
    await page.check('#type-password')
    await page.fill('#new-password', 'password123')
    await page.fill('#repeated', 'password123')
    await confirm(page)
    await page.locator('.rules .unmet', { hasText: 'Not a common password' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'reset password'), [])
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await page.uncheck('#must-change')
    await confirm(page)
    await page.locator('#notice', { hasText: 'The password of 新名字 is reset.' }).waitFor()
    t.notOk(await isLive(fixture, token))
    token = await fixture.signIn(account.username, OWN_PASSWORD)

    await openAnd(page, 'Remove account')
    t.same(await obstaclesEverywhere(page, 'remove account'), [])
    await page.keyboard.press('Escape')
    t.ok(await isLive(fixture, token))
    await openAnd(page, 'Remove account')
    await confirm(page)
    await page.locator('.empty', { hasText: 'No account matches' }).waitFor()
    t.notOk(await isLive(fixture, token))
    t.same(visitor.complaints, [])
  })

  t.test('an edit of the name keeps roles and permissions with spaces and commas in them', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const rights = { roles: ['Site Admin', 'Site'], permissions: ['a, b', 'read orders (all)', 'orders'] }
    const account = await add(rights)
    const token = await fixture.signIn(account.username, PASSWORD)
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    const row = await find(page, account)
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.fill('#account-nickname', 'Renamed')
    await confirm(page)
    await row.filter({ hasText: 'Renamed' }).waitFor()
    t.ok(await isLive(fixture, token))
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.fill('#account-permissions', 'read orders (all), a, b stock')
    await confirm(page)
    await page.locator('dialog').waitFor({ state: 'detached' })
    const { data } = await fixture
      .get(`/api/v1/sys/account/detail?id=${account.id}`, await fixture.signIn())
      .then(answer => answer.json())
    t.match(data, { nickname: 'Renamed', roles: rights.roles })
    t.same(data.permissions, ['read orders (all)', 'a, b', 'stock'])
  })

  t.test('an account can be added once the roles are known that it can have', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const held: Route[] = []
    await page.route('**/sys/account/roles', route => void held.push(route))
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    await until(() => held.length > 0)
    t.ok(await page.locator('[data-key=add]').isDisabled())
    for (const route of held) await route.continue()
    await page.click('[data-key=add]')
    await page.check('dialog [data-key="role operator"]')
    t.same(visitor.complaints, [])
  })

  t.test('an administrator adds a service account, and is offered no password or second factor to reset', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    const robot = { id: '', username: someone() }
    await page.click('[data-key=add]')
    await page.fill('#account-username', robot.username)
    await page.check('#type-password')
    await page.check('#is-service')
    t.notOk((await page.isVisible('#type-password')) || (await page.isVisible('#must-change')))
    t.same(await obstaclesEverywhere(page, 'add service account'), [])
    await page.uncheck('#is-service')
    t.ok(await page.isVisible('#new-password'), 'a person has a password')
    await page.check('#is-service')
    await page.check('[data-key="role operator"]')
    await confirm(page)
    await page.locator('#notice', { hasText: `The account ${robot.username} is added.` }).waitFor()
    const row = await find(page, robot)
    t.equal(await row.locator('.tag').textContent(), 'Service account')
    t.same(await row.locator('.actions button').allTextContents(), ['Make a key…', 'Edit…'])
    t.same(await obstaclesEverywhere(page, 'service account in the list'), [])
    await page.click('.account-list .link')
    t.same(await obstaclesEverywhere(page, 'service account'), [])
    const offered = ['Sessions…', 'Make a key…', 'Edit…', 'Remove account…']
    t.same(await page.locator('dialog footer button').allTextContents(), offered)
    t.equal(await page.locator('dialog dt', { hasText: /password|factor/i }).count(), 0)
    await page.keyboard.press('Escape')
    await page.click('[data-key=language]')
    await row.locator('.tag', { hasText: '服务账号' }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('an administrator resets the second factor of a user who has lost it', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add()
    const token = await fixture.signIn(account.username, PASSWORD)
    const current_password = encrypt(PASSWORD, (await fixture.get(sm2KeyPath(1))).json().data)
    const own = '/api/v1/b/account/second-factor'
    const { secret } = (await fixture.post(`${own}/setup`, { current_password }, token)).json().data
    await fixture.post(`${own}/confirm`, { code: codeAt(secret, fixture.now()) }, token)
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    const row = await find(page, account)
    t.equal(await row.locator('td').nth(2).textContent(), 'On')
    await page.click('.account-list .link')
    t.same(await obstaclesEverywhere(page, 'account'), [])
    await page.keyboard.press('Escape')
    await openAnd(page, 'Reset second factor')
    await confirm(page)
    await row.filter({ hasText: 'Off' }).waitFor()
    t.notOk(await isLive(fixture, token))
    t.ok(await fixture.signIn(account.username, PASSWORD), 'the password is enough again')
    await page.click('.account-list .link')
    t.equal(await page.locator('dialog').getByRole('button', { name: 'Reset second factor' }).count(), 0)
  })

  t.test(
    'administrators are offered no right that they do not hold, and a refusal is shown in the language of the page',
    async t => {
      const visitor = await visit(t)
      const { page } = visitor
      const held = ['sys:account:*', 'orders:*']
      const account = await add({ permissions: ['orders:read'] })
      const mighty = await add({ permissions: ['stock:read'] })
      const self = await add({ permissions: held })
      await bring(fixture, visitor, await fixture.signIn(self.username, PASSWORD))
      t.same(await pagesOf(page), ['Accounts', 'My account'])

      const other = await find(page, mighty)
      t.equal(await other.locator('.actions button').count(), 0, 'it holds what the administrator does not')
      await page.click('.account-list .link')
      t.equal(await page.locator('dialog footer > *').count(), 0)
      await page.keyboard.press('Escape')

      const own = await find(page, self)
      t.same(await own.locator('.actions button').allTextContents(), ['Edit…'])
      await own.getByRole('button', { name: 'Edit' }).click()
      t.same(await page.locator('dialog form input').evaluateAll(inputs => inputs.map(({ id }) => id)), [
        'account-nickname',
      ])
      await page.keyboard.press('Escape')

      const row = await find(page, account)
      await row.getByRole('button', { name: 'Edit' }).click()
      await page.fill('#account-permissions', 'orders:write, stock:read')
      await page.fill('#account-roles', 'SUPER_ADMIN')
      await confirm(page)
      await page.locator('dialog .fault', { hasText: 'You do not hold: SUPER_ADMIN, stock:read' }).waitFor()
      t.same(await obstaclesEverywhere(page, 'refused rights'), [])
      await page.fill('#account-permissions', 'orders:write')
      await page.fill('#account-roles', '')
      await confirm(page)
      await row.filter({ hasText: 'orders:write' }).waitFor()

      // Another administrator takes away what this one has on the page.
      await row.getByRole('button', { name: 'Edit' }).click()
      await page.fill('#account-permissions', 'orders:write, orders:read')
      await administer('sys/account/edit', { id: account.id, permissions: [] })
      await confirm(page)
      await page.locator('dialog .fault', { hasText: textOf('en', 'account_changed') }).waitFor()
      t.equal(await page.inputValue('#account-permissions'), 'orders:write, orders:read')
      await row.filter({ hasNotText: 'orders:write' }).waitFor()
      await page.keyboard.press('Escape')
      await row.getByRole('button', { name: 'Edit' }).click()
      t.equal(await page.inputValue('#account-permissions'), '')
      await page.keyboard.press('Escape')

      // Meanwhile another administrator gives it more than this one holds, and then removes it.
      await page.click('[data-key=language]')
      await administer('sys/account/edit', { id: account.id, permissions: ['stock:read'] })
      await row.getByRole('button', { name: '重置密码' }).click()
      await confirm(page)
      await page.locator('dialog .fault', { hasText: '该账号拥有您没有的权限' }).waitFor()
      await administer('sys/account/remove', { id: account.id })
      await confirm(page)
      await page.locator('dialog .fault', { hasText: '账号不存在' }).waitFor()
      t.equal(visitor.complaints.length, 2, 'the statuses of the two refusals')
    },
  )

  t.test('a page that cannot be loaded says so, shows nothing as loading, and is loaded on request', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    for (const [name, path, loaded] of [
      ['accounts', '**/sys/account/page*', '.account-list table'],
      ['journal', '**/sys/journal/page*', '.journal-list table'],
      ['account', '**/b/account', '.panels .facts'],
    ] as const) {
      const { obstacles, left } = await openInTrouble(page, { name, path, loaded, step: `trouble ${name}` })
      t.same(obstacles, [])
      t.equal(left, 0, name)
    }
  })

  t.test('beside a side that cannot be loaded stand no number and no pages of the other side', async t => {
    const visitor = await visit(t)
    await signIn(fixture, visitor)
    await openPage(visitor.page, 'accounts')
    t.same(await besideFailingSide(visitor.page, '**/client/account/page*'), { found: '', pages: 0 })
  })

  t.test('users who can only see accounts are offered no change', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add()
    await arrive(fixture, visitor, ['sys:account:page'])
    const row = await find(page, account)
    t.equal(await row.locator('.actions button').count(), 0)
    t.equal(await page.locator('[data-key=add]').count(), 0)
    await page.click('.account-list .link')
    t.equal(await page.locator('dialog footer > *').count(), 0)
    t.same(visitor.complaints, [])
  })

  t.test('a password that is shown once stays when the user goes back, and when the session ends', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const administrator = await add({ roles: ['SUPER_ADMIN'] })
    await signIn(fixture, visitor, administrator.username, PASSWORD)
    await openPage(page, 'account')
    await openPage(page, 'accounts')
    await page.click('[data-key=add]')
    await page.fill('#account-username', someone())
    await confirm(page)
    const password = await page.locator('dialog .secret code').textContent()
    await page.goBack()
    await page.waitForSelector('main.account')
    t.equal(await page.locator('dialog .secret code').textContent(), password)
    await fixture.gateway.sides.business.kickout(administrator.id)
    await page.goForward()
    await page.waitForSelector('.sign-in')
    t.equal(await page.locator('dialog .secret code').textContent(), password)
    await keep(page)
    t.ok(await page.isVisible('.sign-in'))
  })

  t.test('administrators of the B side add, edit, reset and remove accounts of the C side', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await openPage(page, 'accounts')
    await page.click('.sides .CONSUMER')
    t.match(page.url(), /#consumer-accounts$/)
    await page.locator('.empty', { hasText: 'No accounts yet' }).waitFor()
    t.same(await obstaclesEverywhere(page, 'no consumer account'), [])
    const consumer = { id: '', username: someone() }
    await page.click('[data-key=add]')
    await page.fill('#account-username', consumer.username)
    await page.uncheck('#must-change')
    await confirm(page)
    const password = (await page.locator('dialog .secret code').textContent())!
    await keep(page)
    const row = await find(page, consumer)
    t.same(await obstaclesEverywhere(page, 'consumer accounts'), [])
    const token = await signInConsumer(fixture, consumer.username, password)
    const { consumer: side } = fixture.gateway.sides
    t.not(await side.getLoginIdByToken(token), '')

    await row.getByRole('button', { name: 'Edit' }).click()
    await page.selectOption('#account-status', 'INACTIVE')
    await confirm(page)
    await row.locator('.tag', { hasText: 'Inactive' }).waitFor()
    t.equal(await side.getLoginIdByToken(token), '')
    await row.getByRole('button', { name: 'Reset password' }).click()
    await confirm(page)
    t.not(await page.locator('dialog .secret code').textContent(), password)
    await keep(page)
    await page.click('.account-list .link')
    await page.locator('dialog footer a', { hasText: 'Journal' }).click()
    await page.locator('.journal-list tbody tr', { hasText: 'Account added' }).waitFor()
    t.equal(await page.inputValue('#journal-type'), 'CONSUMER')
    const events = await page.locator('.journal-list .who .link').allTextContents()
    t.same(events.sort(), ['Account added', 'Account edited', 'Password reset', 'Sessions ended', 'Signed in'])
    await page.goBack()
    await find(page, consumer)
    await openAnd(page, 'Remove account')
    await confirm(page)
    await page.locator('.empty', { hasText: 'No account matches' }).waitFor()
    await page.fill('#keyword', '')
    await page.locator('.empty', { hasText: 'No accounts yet' }).waitFor()
    await page.click('.sides .BUSINESS')
    await page.locator('.account-list tbody tr', { hasText: 'SUPER_ADMIN' }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('accounts of the C side do not sign in at the page, which is for the B side', async t => {
    const { page } = await visit(t)
    const { username } = await add({}, 'client/account')
    await sendSignIn(fixture, page, username, PASSWORD)
    await page.locator('.fault', { hasText: 'Wrong username or password' }).waitFor()
    t.ok(await signInConsumer(fixture, username, PASSWORD))
  })
})
