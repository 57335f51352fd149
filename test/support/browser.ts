import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'

const CHROMIUM = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(path => path !== undefined && existsSync(path))

/** For `skip`: a machine without a browser says what it leaves out. */
export const withoutBrowser = CHROMIUM === undefined ? 'LEFT OUT: no chromium in /usr/bin and none in $CHROMIUM' : false

const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync'

export interface Visitor {
  page: Page
  /** What the browser refused to do, and what its scripts threw. */
  complaints: string[]
  /** Requests for other servers than the gateway. */
  strayed: string[]
}

/** A browser for the time of a test; each visitor has storage of its own. */
export async function openBrowser(t: Test): Promise<(options?: BrowserContextOptions) => Promise<Visitor>> {
  const browser: Browser = await chromium.launch({ executablePath: CHROMIUM!, args: FLAGS.split(' ') })
  t.teardown(() => browser.close())
  return async (options = {}) => {
    const context = await browser.newContext({ locale: 'en-US', ...options })
    const page = await context.newPage()
    const complaints: string[] = []
    const strayed: string[] = []
    page.on('console', message => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
    })
    page.on('pageerror', fault => complaints.push(fault.message))
    page.on('request', request => {
      if (!/^(http:\/\/127\.0\.0\.1:|data:)/.test(request.url())) strayed.push(request.url())
    })
    return { page, complaints, strayed }
  }
}
