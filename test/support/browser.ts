import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { pathOf } from './installed.ts'
import { PATIENCE } from './until.ts'

/** The headless shell can open no windows; it needs a third less CPU than the whole browser. */
const CHROMIUM = [
  process.env.CHROMIUM,
  ...['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(name => pathOf(name)),
].find(path => path !== undefined)

/** For `skip`: a machine without a browser says what it leaves out. */
export const withoutBrowser = CHROMIUM === undefined ? 'LEFT OUT: no chromium on PATH and none in $CHROMIUM' : false

/** The last two: one process for all pages. A process of its own for each site and visitor costs a fifth of a second of CPU. */
const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync --renderer-process-limit=1 --disable-site-isolation-trials'

/**
 * The pages wait for an answer of the gateway for 15 seconds. A login may take longer where the tests beside it take all of the
 * machine: its helpers have the lowest priority.
 */
const PATIENT = 'const { timeout } = AbortSignal; AbortSignal.timeout = limit => timeout.call(AbortSignal, 20 * limit)'

export interface Visitor {
  page: Page
  /** What the browser refused to do, and what its scripts threw. */
  complaints: string[]
  /** Requests for other servers than the gateway. */
  strayed: string[]
}

/** A visitor for the time of a test. One with options has a context of their own. */
export type Visit = (t: Test, options?: BrowserContextOptions) => Promise<Visitor>

/**
 * A browser for the time of a test; each visitor has storage of its own. A new context, and the process of its pages, cost a
 * second of CPU, so a visitor takes over those that another one has left. The process lives as long as a page in it.
 */
export async function openBrowser(t: Test): Promise<Visit> {
  const browser: Browser = await chromium.launch({
    executablePath: CHROMIUM!,
    args: FLAGS.split(' '),
    timeout: PATIENCE,
  })
  t.teardown(() => browser.close())
  /** Empty pages, each alone in a context that stores nothing. */
  const left: Page[] = []
  return async (t, options) => {
    const last = options === undefined ? left.pop() : undefined
    const context = last?.context() ?? (await openContext(browser, options))
    const page = await context.newPage()
    await last?.close()
    const visitor = watch(page)
    t.teardown(async () => {
      if (options !== undefined) return context.close()
      await clear(page, visitor.origins)
      left.push(page)
    })
    return visitor
  }
}

async function openContext(browser: Browser, options?: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: 'en-US', ...options })
  context.setDefaultTimeout(PATIENCE)
  await context.addInitScript(PATIENT)
  return context
}

function watch(page: Page): Visitor & { origins: Set<string> } {
  const complaints: string[] = []
  const strayed: string[] = []
  const origins = new Set<string>()
  page.on('console', message => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', fault => complaints.push(fault.message))
  page.on('framenavigated', frame => origins.add(new URL(frame.url()).origin))
  page.on('request', request => {
    if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url())) strayed.push(request.url())
  })
  return { page, complaints, strayed, origins }
}

/** Ends what runs in a page, and removes what it and its origins have stored. */
async function clear(page: Page, origins: Iterable<string>): Promise<void> {
  await page.goto('about:blank')
  await page.context().clearCookies()
  const session = await page.context().newCDPSession(page)
  await session.send('Network.clearBrowserCache')
  for (const origin of origins) await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
  await session.detach()
}
