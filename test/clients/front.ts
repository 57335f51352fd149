import type { Request } from 'playwright-core'
import type { Visitor } from '../support/browser.ts'
import { ADMIN } from '../support/gateway-fixture.ts'
import type { Client, Site } from './site.ts'

/** An answer as the client library gave it to the page. */
export interface Answer {
  isSuccess: boolean
  status: number
  requestId: string | null
  body: { code: number; message: string; data: any; success: boolean; trace_id: string }
}

/** One page of a site, in a browser of its own. */
export class Front {
  readonly site: Site
  readonly visitor: Visitor
  readonly client: Client
  readonly requests: Request[] = []

  constructor(site: Site, visitor: Visitor, client: Client) {
    this.site = site
    this.visitor = visitor
    this.client = client
    visitor.page.on('request', request => {
      if (['xhr', 'fetch'].includes(request.resourceType())) this.requests.push(request)
    })
  }

  /** Loads the page, and answers what came of the request that it sends at each load. */
  async open(address = this.site.page(this.client)): Promise<Answer> {
    await this.visitor.page.goto(address)
    return this.run('loaded')
  }

  async reload(): Promise<Answer> {
    await this.visitor.page.reload()
    return this.run('loaded')
  }

  run(action: string, ...values: unknown[]): Promise<any> {
    return this.visitor.page.evaluate(([action, values]) => (window as any).actions[action](...values), [
      action,
      values,
    ] as const)
  }

  get = (path: string, query: Record<string, unknown> = {}): Promise<Answer> => this.run('send', 'GET', path, query)
  /** Without `data` the request has no body. */
  post = (path: string, data?: unknown): Promise<Answer> =>
    data === undefined ? this.run('send', 'POST', path) : this.run('send', 'POST', path, {}, data)
  token = (): Promise<string | null> => this.run('token')

  /** Keeps a token as a page that is signed in does. */
  keep = (token: string): Promise<void> =>
    this.visitor.page.evaluate(kept => localStorage.setItem('token', kept), token)

  /** Signs in as a person does, who reads the picture. */
  async signIn(password = ADMIN.password, wrongAnswer?: string): Promise<Answer> {
    const { captchas } = this.site.fixture.store
    const { id, width } = await this.run('showCaptcha')
    if (width === 0) throw new Error('the captcha is not a picture')
    const answer = await captchas.take('BUSINESS', id)
    await captchas.put('BUSINESS', id, answer!, Date.now() + 60_000)
    const captcha_code = wrongAnswer ?? answer
    return this.run('signIn', { username: ADMIN.username, password, captcha_id: id, captcha_code })
  }

  /** The headers of the requests since then, and the path of each. */
  sent(since: number): Promise<Record<string, string>[]> {
    return Promise.all(
      this.requests.slice(since).map(async request => ({
        path: new URL(request.url()).pathname,
        ...(await request.allHeaders()),
      })),
    )
  }
}
