import t from 'tap'
import { callRaw } from '../support/client.ts'
import { openFixture } from '../support/gateway-fixture.ts'

t.test('a length with zeros before it is refused by both listeners, and nothing behind it is served', async t => {
  const fixture = await openFixture(t)
  for (const [url, path] of [
    [fixture.url, '/api/v1/public/c/captcha'],
    [fixture.internal, '/livez'],
  ] as const) {
    const next = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    t.match(await callRaw(url, next), /^HTTP\/1\.1 200 /, `${path} is served`)
    for (const [length, body] of [
      ['0000', ''],
      ['00', ''],
      ['0003', 'abc'],
    ]) {
      const answers = await callRaw(
        url,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}${next}`,
      )
      t.match(answers, /^HTTP\/1\.1 400 .*an invalid Content-Length/s, `${path} with ${length}`)
      t.equal(answers.split('HTTP/1.1 ').length - 1, 1, 'the only answer')
    }
  }
})
