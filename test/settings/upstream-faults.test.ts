import t from 'tap'
import { faultsOf } from './folder.ts'

/* Faults of upstreams, as their author reads them. */

const UPSTREAM_FAULTS: [title: string, entries: string, fault: RegExp][] = [
  [
    'a name that occurs twice',
    '- { name: a, match: /api/a, target: "builtin:echo" }\n- { name: a, match: /api/b, target: "builtin:echo" }',
    /^upstreams\.yaml:3 upstreams\[1\]\.name: is also that of upstream 1/,
  ],
  [
    'a match that occurs twice',
    '- { name: a, match: /api, target: "builtin:echo" }\n- { name: b, match: /api, target: "builtin:echo" }',
    /upstreams\[1\]\.match: is also that of upstream 1/,
  ],
  ['no target', '- { name: a, match: /api }', /^upstreams\.yaml:2 upstreams\[0\]: needs either target or targets$/],
  [
    'both targets',
    '- { name: a, match: /api, target: "builtin:echo", targets: ["http://a"] }',
    /upstreams\[0\]: needs either target or targets$/,
  ],
  [
    'WebSockets without a target',
    '- { name: a, match: /api, target: "builtin:echo", websocket: {} }',
    /upstreams\[0\]\.websocket: has no effect, because builtin:echo opens no WebSocket/,
  ],
  [
    'WebSockets that are switched on like a switch',
    '- { name: a, match: /api, target: "http://a", websocket: on }',
    /upstreams\[0\]\.websocket: must be off, or \{ origins: .* \{\} is on with the defaults/,
  ],
  [
    'a match at a page of the gateway',
    '- { name: a, match: /docs, target: "builtin:echo" }',
    /upstreams\[0\]\.match: lies in \/docs\/\*, which the gateway keeps for itself/,
  ],
  [
    'a match that no request can have',
    '- { name: a, match: /api/../x, target: "builtin:echo" }',
    /upstreams\[0\]\.match: is not a valid path/,
  ],
  [
    'a match that is a pattern',
    '- { name: a, match: /api/v1/*, target: "builtin:echo" }',
    /upstreams\[0\]\.match: must have letters, digits and - \. _ ~ only: .*; end it before the segment/,
  ],
  ...[..."!$&'()*+,=:@"].map((character): [string, string, RegExp] => [
    `a match that requests can write in two ways, with ${character}`,
    `- { name: a, match: "/api/v1/c/a${character}b", target: "builtin:echo" }`,
    /upstreams\[0\]\.match: .* other characters have several spellings, and only one of them would be matched/,
  ]),
  [
    'a rewrite that is a pattern',
    '- { name: a, match: /api/v1, rewrite: /orders/*, target: "builtin:echo" }',
    /upstreams\[0\]\.rewrite: is not a pattern/,
  ],
  [
    'a target with a password',
    '- { name: a, match: /api, target: "http://u:hunter2@h" }',
    /upstreams\[0\]\.target: must be http:\/\/host:port, https:\/\/host:port, unix:\/path\/of\.sock or builtin:echo$/,
  ],
  [
    'an unknown key',
    '- name: a\n  match: /api\n  traget: x\n  target: "builtin:echo"',
    /^upstreams\.yaml:4 upstreams\[0\]\.traget: unknown setting; did you mean target\?/,
  ],
  [
    'an unknown key that is meant for one that is missing',
    '- { nmae: a, match: /api, target: "builtin:echo" }',
    /^upstreams\.yaml:2 upstreams\[0\]\.nmae: unknown setting; did you mean name\?/,
  ],
  ['a text', '- http://127.0.0.1', /upstreams\[0\]: must be a section with name, match/],
  [
    'three keys for one signature',
    `- { name: a, match: /api, target: "http://a", identity: { signature: [${'"kJ3vQ8zR2xW7bN5m", '.repeat(3)}] } }`,
    /upstreams\[0\]\.identity\.signature: must have at most 2 entries/,
  ],
]

for (const [title, entries, fault] of UPSTREAM_FAULTS) {
  t.test(`a fault in the upstreams file has its place there: ${title}`, async t => {
    const file = `upstreams:\n${entries.replace(/^/gm, '  ')}\n`
    const found = faultsOf(t, '', {}, { 'upstreams.yaml': file })
    t.equal(found.length, 1, found.join('\n'))
    t.match(found[0], fault)
  })
}
