import { readFileSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, withoutBrowser } from '../../support/browser.ts'
import { fillIn, solve } from '../../support/console.ts'
import { ADMIN, type Fixture } from '../../support/gateway-fixture.ts'
import { makeCertificate, WEB_APPLICATION } from './proxies.ts'
import { B, openWebApplication } from './web-application-fixture.ts'

/* A browser that signs in at a web application behind a proxy. */

/** A site at another port of the same host: browsers send it the cookies of the host, but it is another origin. */
async function startOtherSite(t: Test, protocol: string, text: string): Promise<string> {
  const answer = (_request: unknown, response: { end(text: string): void }) => response.end(text)
  const { cert, key } = protocol === 'https:' ? makeCertificate(t) : { cert: '', key: '' }
  const server =
    protocol === 'https:'
      ? createSecureServer({ cert: readFileSync(cert), key: readFileSync(key) }, answer)
      : createPlainServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The sign-in page, filled in and sent. */
async function signIn(fixture: Fixture, page: Page, load: () => Promise<unknown>): Promise<void> {
  await solve(fixture, page, load)
  await fillIn(page, ADMIN.username, ADMIN.password)
  await page.click('button[type=submit]')
  await page.waitForSelector('#user')
}

/** Runs in the browser: what a WebSocket echoes, or `refused`. */
const echoed = (address: string): Promise<string> =>
  new Promise(resolve => {
    const socket = new WebSocket(address)
    socket.onopen = () => socket.send('hello')
    socket.onmessage = ({ data }) => resolve(data)
    socket.onerror = () => resolve('refused')
  })

for (const { name, skip, start, dropsAllCookies = false } of WEB_APPLICATION) {
  t.test(`people in a browser behind ${name}`, { skip: skip || withoutBrowser }, async t => {
    const { application, fixture, url, protocol } = await openWebApplication(t, start)

    const visit = await openBrowser(t)
    const { page, complaints } = await visit(t, { ignoreHTTPSErrors: true })
    const wiki = `${url}/wiki/page?a=%2Fb#part`
    await signIn(fixture, page, async () => {
      await page.goto(wiki)
      t.match(page.url(), `${url}/sign-in/b/?to=`)
    })
    t.equal(page.url(), wiki, 'back, with query and fragment')
    t.equal(await page.textContent('#user'), '1')
    t.same(complaints, [])
    t.same((await page.context().cookies()).map(({ name }) => name).toSorted(), [B, 'theme'])

    await page.reload()
    t.equal(await page.textContent('#cookies'), dropsAllCookies ? '' : 'theme=dark')
    await page.click('button')
    await page.waitForURL(`${url}/wiki/save`)
    t.same([await page.textContent('#method'), await page.textContent('#user')], ['POST', '1'], 'a form')
    const live = `${url.replace('http', 'ws')}/wiki/live`
    t.equal(await page.evaluate(echoed, live), 'echo: hello')

    const form = `<!doctype html><form method="post" action="${url}/wiki/save"><button>Win</button></form>`
    await page.goto(await startOtherSite(t, protocol, form))
    const [sent, opened] = [application.requests.length, application.sockets.handshakes.length]
    t.equal(await page.evaluate(echoed, live), 'refused')
    const [refused] = await Promise.all([page.waitForResponse(`${url}/wiki/save`), page.click('button')])
    t.equal(refused.status(), 403, 'a form of another origin, although the cookie comes with it')
    t.same([application.requests.length, application.sockets.handshakes.length], [sent, opened])

    await page.goto(wiki)
    await fixture.gateway.sides.business.kickout('1')
    const [ended] = await Promise.all([page.waitForResponse(`${url}/wiki/save`), page.click('button')])
    t.equal(ended.status(), 401, 'a form after the end of the session')
    await signIn(fixture, page, () => page.goto(wiki))
    await page.goto(`${url}/sign-out/b`)
    await page.click('button[type=submit]')
    await page.locator('.told', { hasText: 'You are signed out.' }).waitFor()
    t.equal((await page.request.get(wiki, { maxRedirects: 0 })).status(), 401)
    t.same(
      (await page.context().cookies()).map(({ name }) => name),
      ['theme'],
    )
    await solve(fixture, page, () => page.reload())
    await fillIn(page, ADMIN.username, ADMIN.password)
    await page.click('button[type=submit]')
    await page.waitForURL(`${url}/console/`)
    await page.waitForSelector('.chrome')
  })
}
