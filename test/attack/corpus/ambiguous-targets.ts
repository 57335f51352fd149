import { type Attack, asAnonymous, asBusiness, asConsumer } from '../attack.ts'

/*
 * Targets that two components read in two ways: the gate sees one path, what stands behind it another. Each is refused,
 * for every method and every client.
 */

const TARGETS: Readonly<Record<string, readonly string[]>> = {
  'a dot segment, which URL parsers resolve': [
    '/./api/v1/sys/u',
    '/%2e/api/v1/sys/u',
    '/%2E/api/v1/sys/u',
    '/api/./v1/sys/u',
    '/api/v1/./c/x',
    '/api/v1/c/.',
    '/api/v1/c/..',
    '/api/v1/c/../sys/u',
    '/api/v1/c/%2e%2e/sys/u',
    '/api/v1/c/.%2e/sys/u',
    '/api/v1/c/%2E./sys/u',
    '/api/v1/c/..%2fsys/u',
    '/api/v1/c/..;/sys/u',
    '/api/v1/c/..\\sys/u',
    '/api/v1/c/..%5csys/u',
    '/api/v1/public/b/../../sys/u',
    '/api/v1/public/b/%2e%2e/x',
  ],
  'an escape of an escape, which is decoded twice somewhere': [
    '/api/v1/c/..%252fsys/u',
    '/api/v1/c/%252e%252e/sys/u',
    '/api/v1/%2563/me',
    '/api/v1/c/%25',
    '/api/v1/c/%u002e',
  ],
  'a backslash, which some servers take for a slash': [
    '/api\\v1\\sys\\u',
    '/api/v1\\sys/u',
    '/api/v1/c\\x/y',
    '\\api/v1/sys/u',
    '/api/v1/c/%5c..%5csys',
  ],
  'an escape of a character that needs none': [
    '/%61pi/v1/sys/u',
    '/api/v%31/sys/u',
    '/api/%761/sys/u',
    '/api/v1/%63/me',
    '/api/v1/%43/me',
    '/api/v1/%70ublic/b/x',
    '/api/v1/%73ys/x',
    '/api/v1/c/%7e',
    '/api/v1/c/%5F',
  ],
  'an escaped separator': [
    '/api/v1%2fsys/u',
    '/api%2fv1/sys/u',
    '/api/v1/c%2fx',
    '/api/v1/c%2Fx',
    '/api/v1/c/%3bx',
    '/api/v1/c/%3fx=1',
    '/api/v1/c/%23x',
  ],
  'an empty segment, which is merged somewhere': [
    '//api/v1/sys/u',
    '/api//v1/sys/u',
    '/api/v1//sys/u',
    '/api/v1//c/x',
    '/api/v1/c//x',
    '/api/v1/c/x//',
    '//evil.example/api/v1/c/x',
    '///api/v1/c/x',
  ],
  'path parameters, which Servlet containers strip': [
    '/api/v1;x/sys/u',
    '/api/v1/c;a=b/x',
    '/api/v1/;/c/x',
    '/docs;/api/v1/sys',
    '/api/v1/public/b/;jsessionid=1',
  ],
  'a fragment': ['/api/v1/c#/x', '/docs#/api/v1/sys/u', '/api/v1/c/x?a#b'],
  'another form than a path': ['https://evil.example/api/v1/c/x', '*', 'api/v1/c/x', '?/api/v1/c/x', 'x:80'],
  'an escaped control': [
    '/api/v1/c/%00',
    '/api/v1/sys/u%00/../../public/b/x',
    '/api/v1/c/%0a',
    '/api/v1/c/%0d%0aX-Login-Id:%201',
    '/api/v1/c/%09',
    '/api/v1/c/%7f',
    '/api/v1/c/%c2%85',
  ],
  'bytes that are no UTF-8, or no shortest UTF-8': [
    '/api/v1/c/%c0%ae%c0%ae/sys/u',
    '/api/v1/c/%c0%af',
    '/api/v1/c/%e0%80%af',
    '/api/v1/c/%f0%80%80%af',
    '/api/v1/c/%ff',
    '/api/v1/c/%ed%a0%80',
    '/api/v1/c/%f4%90%80%80',
    '/api/v1/c/%e4%b8',
  ],
  'an invalid escape': ['/api/v1/c/%', '/api/v1/c/%2', '/api/v1/c/%zz', '/api/v1/c/%-1', '/api/v1/c/%%32%65'],
  'a character that some servers take for a slash or a dot': [
    '/api/v1/c/%ef%bc%8e%ef%bc%8e/sys/u',
    '/api/v1/c/.%ef%bc%8e/sys/u',
    '/api/v1/c/%e2%80%a5/sys/u',
    '/api/v1/c/%e2%80%a4%e2%80%a4/sys/u',
    '/api/v1/c/..%20/sys/u',
    '/api/v1/c/%20../sys/u',
    '/api/v1/c/..%c2%a0/sys/u',
    '/api/v1%ef%bc%8fsys/u',
    '/api/v1/c%ef%bc%8f..%ef%bc%8fsys/u',
    '/api/v1/c%ef%bc%bcx',
    '/api/v1/%e2%84%80/x',
  ],
  'a character that no target has': [
    '/api/v1/c/\xe9',
    '/api/v\xd9\xa1/c/x',
    '/api/v1/\xef\xbd\x83/x',
    '/api/v1/c/"x"',
    '/api/v1/c/<x>',
    '/api/v1/c/[x]',
    '/api/v1/c/{x}',
    '/api/v1/c/|',
    '/api/v1/c/^',
    '/api/v1/c/`x`',
    '/api/v1/c/\x01',
    '/api/v1/c/\x7f',
    '/api/v1/c/\t',
    '/api/v1/c/\0',
  ],
}

const ASKED = [
  (target: string) => asAnonymous(`GET ${target} HTTP/1.1`),
  (target: string) => asConsumer(`POST ${target} HTTP/1.1`, 'Content-Length: 0'),
  (target: string) => asAnonymous(`OPTIONS ${target} HTTP/1.1`),
  (target: string) => asBusiness(`DELETE ${target} HTTP/1.1`),
  (target: string) => asBusiness(`HEAD ${target} HTTP/1.1`),
]

export default Object.entries(TARGETS).flatMap(([kind, targets]) =>
  targets.flatMap(target =>
    ASKED.map((ask): Attack => {
      const send = ask(target)
      return { claim: `${JSON.stringify(send.split(' HTTP')[0])} is refused: ${kind}`, send, answers: [400] }
    }),
  ),
)
