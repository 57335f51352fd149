import t from 'tap'
import { deviceTypeOf } from '../../src/login/sign-in/device.ts'

const WEBKIT = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)'
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'

const AGENTS: readonly (readonly [string, string])[] = [
  [`${WEBKIT} Chrome/130.0.0.0 Safari/537.36`, 'Chrome'],
  [`${WEBKIT} Chrome/130.0.0.0 Safari/537.36 Edg/130.0.0.0`, 'Edge'],
  [`${WEBKIT} Chrome/130.0.0.0 Safari/537.36 OPR/115.0.0.0`, 'Opera'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0', 'Firefox'],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15',
    'Safari',
  ],
  [`${IPHONE} CriOS/130.0.0.0 Mobile/15E148 Safari/604.1`, 'Chrome'],
  [`${IPHONE} Mobile/15E148 MicroMessenger/8.0.50`, 'WeChat'],
  [`${WEBKIT} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36`, 'Samsung Internet'],
  ['curl/8.5.0', 'curl'],
  ['okhttp/4.12.0', 'okhttp'],
  ['PostmanRuntime/7.42.0', 'PostmanRuntime'],
  ['node', 'node'],
  ['', 'Unknown'],
  ['<script>alert(1)</script>', 'Unknown'],
  ['x'.repeat(5000), 'Unknown'],
]

t.test('the kind of device is the browser, or the first product of the user agent', async t => {
  for (const [agent, type] of AGENTS) t.equal(deviceTypeOf(agent), type, agent.slice(0, 100))
})
