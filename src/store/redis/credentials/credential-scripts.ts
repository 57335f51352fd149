import { LAST, NOW, VERSION } from '../commands/key-scripts.ts'

/*
 * Each on one key. The list of an owner is a sorted set: '+' and the id of a credential that counts, or '-' and the id of one
 * that was succeeded, by the end with which it was stored. It never ends before the record of a member.
 */

/** How long a member outlives its record, in milliseconds: in a Cluster they lie on servers with clocks of their own. */
const SPARE = 60_000

/** `enter` adds ARGV[1], which ends at ARGV[2], and answers when, in microseconds. */
const ENTER = `${LAST}${NOW}${VERSION}
local function enter()
  redis.call('ZADD', KEYS[1], ARGV[2], '+' .. ARGV[1])
  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.max(tonumber(ARGV[2]) + ${SPARE}, last)))
  return version
end
`

/** KEYS[1] list, ARGV[1] id, ARGV[2] timestamp of its end, ARGV[3] how many may count. Answers 0 if so many do. */
const RESERVE = `${ENTER}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now - ${SPARE}))
local counting = 0
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now), '+inf')) do
  if string.sub(member, 1, 1) == '+' then counting = counting + 1 end
end
if counting >= tonumber(ARGV[3]) then return 0 end
return enter()`

/**
 * KEYS[1] list, ARGV[1] id, ARGV[2] timestamp of its end, ARGV[3] id of which it takes the place, ARGV[4] id that has taken it before
 * and is dead; '' without one. Answers 0 if it is not in the list.
 */
const TAKE_PLACE = `${ENTER}
local ends = redis.call('ZSCORE', KEYS[1], '+' .. ARGV[3]) or redis.call('ZSCORE', KEYS[1], '-' .. ARGV[3])
if not ends then return 0 end
redis.call('ZREM', KEYS[1], '+' .. ARGV[3], '+' .. ARGV[4])
redis.call('ZADD', KEYS[1], ends, '-' .. ARGV[3])
return enter()`

/** KEYS[1] list, ARGV[1] id that has no record, ARGV[2] id of which it has taken the place: if it still has it, that gets it back. */
const GIVE_BACK = `
if redis.call('ZREM', KEYS[1], '+' .. ARGV[1]) == 0 then return 0 end
local ends = redis.call('ZSCORE', KEYS[1], '-' .. ARGV[2])
if not ends then return 0 end
redis.call('ZREM', KEYS[1], '-' .. ARGV[2])
redis.call('ZADD', KEYS[1], ends, '+' .. ARGV[2])
return 1`

/** KEYS[1] record, ARGV[1] its text, ARGV[2] another one, ARGV[3] timestamp of its end from then on. Answers 0 if its text is not ARGV[1]. */
const ACTIVATE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
return 1`

/** The same, but that it keeps its end, or ends at ARGV[3] if that is earlier. */
const EXCHANGE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
${LAST}
if last > tonumber(ARGV[3]) then redis.call('PEXPIREAT', KEYS[1], ARGV[3]) end
return 1`

/** Each becomes a command of the client under its name; all take one key first. */
export const CREDENTIAL_SCRIPTS = {
  credentialReserve: RESERVE,
  credentialTakePlace: TAKE_PLACE,
  credentialGiveBack: GIVE_BACK,
  credentialActivate: ACTIVATE,
  credentialExchange: EXCHANGE,
} as const

export interface CredentialScripts {
  credentialReserve(key: string, id: string, timestamp: number, most: number): Promise<number>
  credentialTakePlace(key: string, id: string, timestamp: number, of: string, before: string): Promise<number>
  credentialGiveBack(key: string, id: string, of: string): Promise<0 | 1>
  credentialActivate(key: string, from: string, to: string, timestamp: number): Promise<0 | 1>
  credentialExchange(key: string, from: string, to: string, timestamp: number): Promise<0 | 1>
}
