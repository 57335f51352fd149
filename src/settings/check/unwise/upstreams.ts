import type { UpstreamSettings } from '../../schema/upstreams.ts'
import { targetsOf } from '../../targets.ts'
import { isUnencrypted } from '../networks.ts'
import { indexesOf, type Rule, UNENCRYPTED_PAGE } from './rule.ts'

export const UPSTREAMS: readonly Rule<UpstreamSettings>[] = [
  {
    setting: ['target'],
    finds: ({ target }, isProduction) => isProduction && target === 'builtin:echo',
    message: 'is the built-in upstream, which only shows requests; name your backend',
  },
  {
    setting: ['pass_authorization'],
    finds: ({ pass_authorization }) => pass_authorization !== 'off',
    message:
      'gives the backend the tokens of its users, with which it can act as them; off, unless it verifies them itself',
  },
  {
    setting: ['ejection'],
    finds: ({ ejection, health, targets = [] }) => ejection === 'off' && health === undefined && targets.length > 1,
    message: 'is off, and there are no health checks: a dead target continues to get its share of the requests',
  },
  {
    setting: ['websocket', 'origins'],
    finds: ({ websocket }) =>
      websocket === 'off' ? false : indexesOf(websocket.origins ?? [], origin => isUnencrypted(origin, 'http:')),
    message: UNENCRYPTED_PAGE,
  },
  {
    setting: [],
    finds: upstream => targetsOf(upstream).some(({ url }) => isUnencrypted(url, 'http:')),
    message: 'sends the identity of users unencrypted over a public network; use https:// targets',
  },
]
