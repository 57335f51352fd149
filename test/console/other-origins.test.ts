import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { openBrowser, withoutBrowser } from '../support/browser.ts'
import { openFixture } from '../support/gateway-fixture.ts'
import { until } from '../support/until.ts'
import { startUpstream } from '../support/upstream.ts'
import { startSocketUpstream } from '../support/websocket-sockets.ts'

/* What pages of other origins can do to a person with a session cookie. `a.localhost` and `b.localhost` are two sites. */

/** A page that does what the test says, at any host of this machine. */
async function startAttacker(t: Test): Promise<number> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>Win a prize</title>')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise(resolve => server.close(resolve)))
  return (server.address() as AddressInfo).port
}

/** Sends a form as a click on it would. */
const sendForm = (page: Page, action: string): Promise<unknown> =>
  Promise.all([
    page.waitForNavigation(),
    page.evaluate(action => {
      const form = document.body.appendChild(document.createElement('form'))
      Object.assign(form, { method: 'post', action })
      form.submit()
    }, action),
  ])

/** Whether a WebSocket opens. */
const opens = (page: Page, url: string): Promise<boolean> =>
  page.evaluate(
    url =>
      new Promise<boolean>(resolve => {
        const socket = new WebSocket(url)
        socket.onopen = () => resolve(true)
        socket.onerror = () => resolve(false)
      }),
    url,
  )

/** Where a frame of an address ends up; its text comes later. */
async function framed(page: Page, src: string): Promise<string> {
  const { length } = page.frames()
  await page.evaluate(src => {
    const frame = document.body.appendChild(document.createElement('iframe'))
    frame.src = src
  }, src)
  return until(() => page.frames()[length]?.url().replace('about:blank', ''))
}

/** The page of the browser in the place of one that may not be framed. */
const REFUSED_FRAME = 'chrome-error://chromewebdata/'

t.test('a page of another origin', { skip: withoutBrowser }, async t => {
  const visit = await openBrowser(t)
  const port = await startAttacker(t)
  const application = await startUpstream({ answer: (_request, response) => void response.end('the wiki') })
  t.teardown(() => application.close())
  const sockets = await startSocketUpstream(t)
  const fixture = await openFixture(t, {
    config: {
      browser: { business: 'on' },
      gate: {
        pages: [
          { path: '/wiki/*', needs: 'business' },
          { path: '/live', needs: 'business' },
        ],
      },
    },
    upstreams: [
      { name: 'wiki', match: '/wiki', target: application.url },
      { name: 'live', match: '/live', target: sockets.url, websocket: { origins: ['http://b.localhost'] } },
    ],
  })
  const gate = `http://a.localhost:${new URL(fixture.url).port}`
  const token = await fixture.gateway.sides.business.login(undefined, '7')

  for (const [what, host, refusal] of [
    ['another site', 'b.localhost', /You are not signed in/],
    ['the same site, at another port', 'a.localhost', /A page of another origin may not send this request/],
  ] as const) {
    t.test(`${what}, can link to a page, but not write, frame the sign-in or open WebSockets`, async t => {
      const { page } = await visit(t, { locale: 'en-US' })
      await page.context().addCookies([
        {
          name: '__Host-dualgate-b',
          value: token,
          domain: 'a.localhost',
          path: '/',
          secure: true,
          httpOnly: true,
          sameSite: 'Lax',
        },
      ])
      const attacker = `http://${host}:${port}/`
      await page.goto(`${gate}/wiki/start`)
      t.equal(await page.textContent('body'), 'the wiki', 'signed in')
      application.requests.length = 0

      await page.goto(attacker)
      await sendForm(page, `${gate}/wiki/save`)
      t.match(await page.textContent('body'), refusal)
      await page.goto(attacker)
      await sendForm(page, `${gate}/sign-out/b`)
      await page.goto(attacker)
      const sent = page.evaluate(
        url => fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' }).then(() => 'sent'),
        `${gate}/wiki/save`,
      )
      t.equal(await sent, 'sent')
      t.equal(await opens(page, `${gate}/live`.replace('http', 'ws')), false)
      t.equal(await framed(page, `${gate}/sign-in/b/`), REFUSED_FRAME, 'the sign-in is not framed')
      t.equal(await framed(page, attacker), attacker, 'what may be framed is')
      t.same(application.requests, [], 'nothing reached the application')
      t.same(sockets.handshakes, [])

      await Promise.all([
        page.waitForURL(/wiki\/linked/),
        page.evaluate(url => location.assign(url), `${gate}/wiki/linked`),
      ])
      t.equal(await page.textContent('body'), 'the wiki', 'a link is followed with the session')
      t.equal(application.requests.at(-1)?.headers['x-login-id'], '7')
    })
  }
})
