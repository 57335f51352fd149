import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Fixture, openFixture } from '../support/gateway-fixture.ts'
import { ROOT } from '../support/root.ts'
import { type Handler, startUpstream } from '../support/upstream.ts'
import { startSocketUpstream } from '../support/websocket-sockets.ts'

export const CLIENTS = ['axios', 'alova', 'fetch'] as const
export type Client = (typeof CLIENTS)[number]

/** Where a page comes from: from the gateway's own origin, through an upstream of it; or from another one. */
export const ORIGINS = ['one origin', 'two origins'] as const
export type Origins = (typeof ORIGINS)[number]

/** A gateway, and a page of a front end that uses it. */
export interface Site {
  fixture: Fixture
  /** The address of the page with this client library. */
  page(client: Client): string
  /** The same page on an origin that the gateway does not know. */
  foreignPage(client: Client): string
}

const FOLDER = '/api/v1/public/c/shop'
const MODULES = join(ROOT, 'node_modules')

const SCRIPTS: Readonly<Record<string, string>> = {
  'axios.js': `${MODULES}/axios/dist/axios.min.js`,
  'alova.js': `${MODULES}/alova/dist/alova.umd.min.js`,
  'alova-fetch.js': `${MODULES}/alova/dist/adapter/fetch.umd.min.js`,
  'sm2.js': `${MODULES}/sm-crypto/dist/sm2.js`,
  'page.js': join(ROOT, 'test/clients/page.js'),
}

const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><img alt="">${Object.keys(SCRIPTS)
  .map(name => `<script src="${FOLDER}/${name}"></script>`)
  .join('')}`

const DICTIONARY = { code: 200, message: '', data: [{ label: 'a', value: '1' }], success: true, trace_id: '' }

/** The back end: the files of the page, and the dictionary that it requests at each load. */
const serve: Handler = ({ url = '' }, response) => {
  const path = url.split('?')[0]!
  const script = SCRIPTS[path.slice(FOLDER.length + 1)]
  const [type, body] =
    path === '/api/v1/sys/dict/tree'
      ? ['application/json', JSON.stringify(DICTIONARY)]
      : script === undefined
        ? ['text/html; charset=utf-8', PAGE]
        : ['text/javascript; charset=utf-8', readFileSync(script)]
  response.setHeader('content-type', type)
  response.end(body)
}

export async function openSite(t: Test, origins: Origins): Promise<Site> {
  const [other, foreign] = [await startUpstream({ answer: serve }), await startUpstream({ answer: serve })]
  t.teardown(() => Promise.all([other.close(), foreign.close()]))
  const live = await startSocketUpstream(t)
  const isOther = origins === 'two origins'
  const fixture = await openFixture(t, {
    config: {
      session_administration: true,
      gate: { exceptions: [{ path: '/api/v1/sys/dict/tree', methods: ['GET'], needs: 'none' }] },
      cors: isOther ? { origin: [other.url], exposedHeaders: ['X-Request-Id'] } : 'off',
    },
    upstreams: [
      {
        name: 'live',
        match: '/api/v1/b/live',
        target: live.url,
        websocket: isOther ? { origins: [other.url] } : {},
        end_with_session: 'on',
      },
      { name: 'away', match: '/api/v1/b/away', target: 'http://127.0.0.1:1' },
    ],
  })
  fixture.upstream.answer = serve
  const pageOf = (origin: string) => (client: Client) =>
    `${origin}${FOLDER}/?${new URLSearchParams({ client, gateway: fixture.url })}`
  return { fixture, page: pageOf(isOther ? other.url : fixture.url), foreignPage: pageOf(foreign.url) }
}
