import t from 'tap'
import { consequencesOf } from '../../src/process/reload-consequences.ts'
import { sealingKey } from '../../src/second-factor/sealed.ts'
import type { Settings } from '../../src/settings/schema/settings.ts'
import { settingsOf } from '../settings/folder.ts'

/* What a reload says that a changed configuration does to users. */

t.test('a reload names another key of second factors, wherever it comes from', async t => {
  const settings = settingsOf(t, '')
  const { sm2, second_factor } = settings.login
  const noted = (key: string | undefined, privateKey = sm2.private_key, wanted: object = second_factor): boolean => {
    const login = { ...settings.login, sm2: { private_key: privateKey }, second_factor: { ...wanted, key } }
    const notes = consequencesOf(settings, { ...settings, login } as Settings)
    return notes.some(note => note.startsWith('the key of second factors '))
  }
  const kept = sealingKey(undefined, sm2.private_key).toString('hex')
  t.notOk(noted(undefined), 'nothing has changed')
  t.notOk(noted(kept), 'the derived key is written down')
  t.notOk(noted(kept, '2'.repeat(64)), 'so it stays when that of SM2 changes')
  t.ok(noted(undefined, '2'.repeat(64)), 'without it, it changes, too')
  t.ok(noted('3'.repeat(64)))
  t.notOk(noted('3'.repeat(64), sm2.private_key, { ...second_factor, for: 'off' }), 'nothing has a second factor')
})

t.test('a reload names a key of assertions that no service can have read', async t => {
  const settings = settingsOf(
    t,
    'upstreams: [{ name: a, match: /api, target: builtin:echo, identity: { assertion: { audience: a } } }]\n',
  )
  const withKeys = (key_file: string, previous?: string): Settings => ({
    ...settings,
    identity: { ...settings.identity, key_file, ...(previous !== undefined && { previous_key_file: previous }) },
    pem: { 'a.pem': 'A', 'b.pem': 'B', 'copy.pem': 'A' },
  })
  const noted = (running: Settings, next: Settings): boolean =>
    consequencesOf(running, next).some(note => note.startsWith('identity.key_file '))
  t.notOk(noted(withKeys('a.pem'), withKeys('a.pem', 'b.pem')), 'the next one is published')
  t.notOk(noted(withKeys('a.pem', 'b.pem'), withKeys('b.pem', 'a.pem')), 'the two are swapped')
  t.notOk(noted(withKeys('b.pem', 'a.pem'), withKeys('b.pem')), 'the old one is removed')
  t.notOk(noted(withKeys('a.pem'), withKeys('copy.pem')), 'the file was moved')
  t.ok(noted(withKeys('a.pem'), withKeys('b.pem')))
  t.ok(noted(withKeys('a.pem'), withKeys('b.pem', 'a.pem')), 'the first step is left out')
  t.notOk(noted({ ...withKeys('a.pem'), upstreams: [] }, withKeys('b.pem')), 'no service has had an assertion')
})

t.test('a reload names another store, and not another time limit, user or password of the same one', async t => {
  const settings = settingsOf(t, '')
  const noted = (before: object, after: object): boolean => {
    const [running, next] = [before, after].map(store => ({ ...settings, store: { ...settings.store, ...store } }))
    return consequencesOf(running!, next!).some(note => note.startsWith('store has changed'))
  }
  const redis = { kind: 'redis', redis: { url: 'redis://user:old@redis.example:6379/1' } }
  const same: object[] = [
    { redis: { url: 'redis://user:new@redis.example:6379/1' } },
    { redis: { url: 'rediss://redis.example/1' } },
    { timeout: 5000 },
    { redis: { ...redis.redis, wait: { replicas: 1, timeout: 100 } } },
  ]
  for (const change of same) t.notOk(noted(redis, { ...redis, ...change }), JSON.stringify(change))
  const others: object[] = [
    { kind: 'embedded' },
    { prefix: 'other' },
    { redis: { url: 'redis://user:old@redis.example:6379/2' } },
    { redis: { url: 'redis://user:old@other.example:6379/1' } },
  ]
  for (const change of others) t.ok(noted(redis, { ...redis, ...change }), JSON.stringify(change))
})
