import type { Page } from 'playwright-core'
import t from 'tap'
import { codeAt, wrongCode } from '../second-factor/factor-fixture.ts'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { arrive, bring, confirm, fillIn, obstaclesEverywhere, sendSignIn, signIn, solve } from '../support/console.ts'
import { type Fixture, openFixture, sm2KeyPath, someone } from '../support/gateway-fixture.ts'
import { encrypt } from '../support/login-work.ts'

/* Accounts on the page, against the real gateway: the required steps of a login, the own factor, and what administrators do. */

const PASSWORD = 'given by an admin 1'
const OWN_PASSWORD = 'an own password 7'

interface Added {
  id: string
  username: string
}

const pagesOf = (page: Page) => page.locator('nav a').allTextContents()

/** Searches the list of accounts for one, and returns its row. */
async function find(page: Page, { username }: Added) {
  // The page before it may have a search field, too.
  await page.waitForSelector('.account-list')
  await page.fill('#keyword', username)
  await page.locator('.account-list tbody tr', { hasText: username }).waitFor()
  await page.locator('.panel header', { hasText: '1 found' }).waitFor()
  return page.locator('.account-list tbody tr')
}

/** Opens the account in the only row of the list, and presses a button there. */
async function openAnd(page: Page, button: string): Promise<void> {
  await page.click('.account-list .link')
  await page.locator('dialog footer').getByRole('button', { name: button }).click()
}

/** The secret that a set-up shows, as an app reads it. */
const shownSecret = async (page: Page): Promise<string> =>
  ((await page.locator('.secret').textContent()) ?? '').replaceAll(' ', '')

const isLive = async (fixture: Fixture, token: string): Promise<boolean> =>
  (await fixture.gateway.sides.business.getLoginIdByToken(token)) !== ''

t.test('accounts on the page', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const fixture = await openFixture({
    config: {
      login: { consumer: { kind: 'file', path: 'consumers.yaml' }, second_factor: { for: ['guarded'] } },
    },
  })
  t.teardown(() => fixture.close())
  const admin = await fixture.signIn()
  const administer = async (path: string, body: object) => (await fixture.post(`/api/v1/${path}`, body, admin)).json()

  /** Adds an account, by default one that is used at once. */
  async function add(account: object = {}, base = 'sys/account'): Promise<Added> {
    const username = someone()
    const password = encrypt(PASSWORD, (await fixture.get(sm2KeyPath(1))).json().data)
    const body = { username, password, must_change_password: false, ...account }
    const answer = await administer(`${base}/add`, body)
    if (answer.success !== true) throw new Error(JSON.stringify(answer))
    return { id: answer.data.id, username }
  }

  /** A code of an app. Each is worth once, so a step of time passes. */
  const nextCode = async (secret: string): Promise<string> => {
    await fixture.elapse(30_000)
    return codeAt(secret, fixture.now())
  }

  t.test('a required second factor is set up in the login, before a required password', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { username } = await add({ roles: ['guarded'], must_change_password: true })
    await sendSignIn(fixture, page, username, PASSWORD)
    await page.locator('h1', { hasText: 'Set up a second factor' }).waitFor()
    await page.waitForSelector('.qr')
    t.ok(await page.evaluate(() => document.querySelector<HTMLImageElement>('.qr')!.naturalWidth > 100))
    const secret = await shownSecret(page)
    t.match(secret, /^[A-Z2-7]{32}$/)
    const uri = (await page.getAttribute('.on-phone a', 'href'))!
    t.match(uri, `otpauth://totp/dualgate:${username}?`)
    t.match(uri, `secret=${secret}`)
    t.same(await obstaclesEverywhere(page, 'required set-up'), [])
    await page.fill('#code', wrongCode(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.locator('.fault', { hasText: 'Wrong code' }).waitFor()
    t.equal(await page.inputValue('#code'), '')
    t.equal(await page.evaluate(() => document.activeElement?.id), 'code')
    t.equal(await shownSecret(page), secret, 'the same secret')

    await page.fill('#code', codeAt(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: 'Your recovery codes' }).waitFor()
    t.equal(new Set(await page.locator('.codes code').allTextContents()).size, 10)
    t.same(await obstaclesEverywhere(page, 'required recovery codes'), [])
    await page.click('[type=submit]')
    t.ok(await page.isVisible('.codes'), 'not before they are kept')
    await page.check('#codes-kept')
    await page.click('[type=submit]')

    await page.locator('h1', { hasText: 'Choose a new password' }).waitFor()
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')
    t.same(await pagesOf(page), ['My account'])
    t.equal(await page.locator('[data-key=state]').textContent(), 'On')
    t.equal(await page.locator('[data-key=remove]').count(), 0, 'what is required cannot be removed')
    await page.reload()
    await page.locator('.panel', { hasText: 'Recovery codes left: 10' }).waitFor()
    t.same(visitor.complaints, [])
  })

  t.test('after a reset of the password, the login asks for the factor and then for a new password', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add({ roles: ['guarded'] })
    await sendSignIn(fixture, page, account.username, PASSWORD)
    const secret = await shownSecret(page)
    const code = codeAt(secret, fixture.now())
    await page.fill('#code', code)
    await page.keyboard.press('Enter')
    await page.check('#codes-kept')
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')

    const reset = await administer('sys/account/reset-password', { id: account.id })
    await solve(fixture, page, () => page.reload())
    await page.locator('.fault', { hasText: 'Your session has ended' }).waitFor()
    await fillIn(page, account.username, reset.data.password)
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: /^Second factor$/ }).waitFor()
    // It was used at the set-up.
    await page.fill('#code', code)
    await page.keyboard.press('Enter')
    await page.locator('.fault', { hasText: 'Wrong code' }).waitFor()
    await page.fill('#code', await nextCode(secret))
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: 'Choose a new password' }).waitFor()
    await page.fill('#new-password', OWN_PASSWORD)
    await page.fill('#repeated', OWN_PASSWORD)
    await page.click('[type=submit]')
    await page.waitForSelector('.chrome')
    t.equal(await page.locator('[data-key=state]').textContent(), 'On')
    t.same(visitor.complaints, [])
  })

  t.test('a step that takes too long leads back to the sign-in', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const { username } = await add({ roles: ['guarded'] })
    await sendSignIn(fixture, page, username, PASSWORD)
    const secret = await shownSecret(page)
    await fixture.elapse(300_000)
    await page.fill('#code', codeAt(secret, fixture.now()))
    await page.keyboard.press('Enter')
    await page.locator('.fault', { hasText: 'sign in again' }).waitFor()
    await page.getByRole('button', { name: 'Back to the sign-in' }).click()
    t.equal(await page.inputValue('#username'), username)
    t.equal(await page.inputValue('#password'), '')
  })

  t.test('the own factor is set up, replaced and removed, and its recovery codes are renewed', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add({ permissions: ['orders:read'] })
    await bring(fixture, visitor, await fixture.signIn(account.username, PASSWORD))
    const other = await fixture.signIn(account.username, PASSWORD)
    const keepCodes = async (): Promise<string[]> => {
      await page.waitForSelector('.codes')
      const codes = await page.locator('.codes code').allTextContents()
      await page.check('#codes-kept')
      await confirm(page)
      await page.locator('dialog').waitFor({ state: 'detached' })
      return codes
    }
    const enrol = async (): Promise<string> => {
      await page.waitForSelector('.qr')
      const secret = await shownSecret(page)
      await page.fill('#code', await nextCode(secret))
      await confirm(page)
      return secret
    }

    await page.click('[data-key=set-up]')
    await page.fill('#current-password', PASSWORD)
    await confirm(page)
    const first = await enrol()
    const codes = await keepCodes()
    await page.locator('.panel', { hasText: 'Recovery codes left: 10' }).waitFor()
    t.ok(await isLive(fixture, other), 'it takes no rights away')

    await page.click('[data-key=new-codes]')
    await page.fill('#current-password', PASSWORD)
    await page.fill('#code', wrongCode(first, fixture.now()))
    await confirm(page)
    await page.locator('dialog .fault', { hasText: 'Wrong code' }).waitFor()
    await page.fill('#code', await nextCode(first))
    await confirm(page)
    const renewed = await keepCodes()
    t.notOk(renewed.some(code => codes.includes(code)))

    await page.click('[data-key=replace]')
    await page.fill('#current-password', PASSWORD)
    await page.fill('#code', codes[0]!)
    await confirm(page)
    await page.locator('dialog .fault', { hasText: 'Wrong code' }).waitFor()
    await page.fill('#code', renewed[0]!)
    t.same(await obstaclesEverywhere(page, 'replace the factor'), [])
    await confirm(page)
    const second = await enrol()
    t.not(second, first)
    await keepCodes()
    t.notOk(await isLive(fixture, other), 'who held the old app is out')

    await page.click('[data-key=remove]')
    await page.fill('#current-password', PASSWORD)
    await page.fill('#code', await nextCode(first))
    await confirm(page)
    await page.locator('dialog .fault', { hasText: 'Wrong code' }).waitFor()
    await page.fill('#code', await nextCode(second))
    await confirm(page)
    await page.locator('#notice', { hasText: 'The second factor is removed.' }).waitFor()
    await page.waitForSelector('[data-key=set-up]')
    t.same(visitor.complaints, [])
  })

  t.test('an administrator finds, edits, locks, resets and removes accounts', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    const account = await add({ roles: ['operator'] })
    const session = async () => fixture.signIn(account.username, PASSWORD)
    let token = await session()
    await signIn(fixture, visitor)
    await page.click('nav [data-key=accounts]')
    const row = await find(page, account)

    await row.getByRole('button', { name: 'Edit' }).click()
    await page.fill('#account-nickname', '新名字')
    await confirm(page)
    await row.filter({ hasText: '新名字' }).waitFor()
    t.ok(await isLive(fixture, token), 'a name ends no session')
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.fill('#account-roles', 'operator，clerk auditor')
    await page.selectOption('#account-status', 'LOCKED')
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
    await page.click('nav [data-key=accounts]')
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
      await page.route(path, route => route.abort())
      await page.click(`nav [data-key=${name}]`)
      await page.locator('.trouble', { hasText: 'The gateway does not answer.' }).waitFor()
      t.equal(await page.getByText('Loading…').count(), 0, name)
      t.same(await obstaclesEverywhere(page, `trouble ${name}`), [])
      await page.unroute(path)
      await page.click('.trouble [data-key=retry]')
      await page.waitForSelector(loaded)
      t.equal(await page.locator('.trouble:not(:empty)').count(), 0, name)
    }
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

  t.test('administrators of the B side add, edit, reset and remove accounts of the C side', async t => {
    const visitor = await visit(t)
    const { page } = visitor
    await signIn(fixture, visitor)
    await page.click('nav [data-key=accounts]')
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
    await page.keyboard.press('Escape')
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
    await page.keyboard.press('Escape')
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

/** A C-side token by the whole login. */
async function signInConsumer(fixture: Fixture, username: string, password: string): Promise<string> {
  const { id, answer } = await fixture.captcha('c')
  const publicKey = (await fixture.get(sm2KeyPath(1).replace('/b/', '/c/'))).json().data
  const body = { username, password: encrypt(password, publicKey), captcha_id: id, captcha_value: answer }
  return (await fixture.post('/api/v1/public/c/login', body)).json().data.token
}
