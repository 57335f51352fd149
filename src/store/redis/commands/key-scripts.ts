/*
 * What one command cannot do on a key, as scripts on one key. Timestamps are milliseconds since the epoch by the clock of
 * Redis.
 */

/** Ends that differ by no more than this, in milliseconds, are the same; different ends differ by more. */
const SAME = 2
const APART = 20

/** `last`: the end of KEYS[1], -1 without one, -2 without the key. Redis 6.2 only reports the time left. */
export const LAST = `
local last = redis.pcall('PEXPIRETIME', KEYS[1])
if type(last) == 'table' then
  local now = redis.call('TIME')
  last = redis.call('PTTL', KEYS[1])
  if last >= 0 then last = last + now[1] * 1000 + math.floor(now[2] / 1000) end
end
`

/** KEYS[1] set, ARGV[1] member, ARGV[2] timestamp. */
const ADD_MEMBER = `${LAST}
redis.call('SADD', KEYS[1], ARGV[1])
if last == -2 or (last >= 0 and tonumber(ARGV[2]) > last) then redis.call('PEXPIREAT', KEYS[1], ARGV[2]) end
return 1`

/** KEYS[1] record, KEYS[2] set, ARGV[1] member, ARGV[2] timestamp, ARGV[3] the record's text. Replicas get it as a whole. */
const ENTER = `
redis.call('SET', KEYS[1], ARGV[3], 'PXAT', ARGV[2], 'NX')
${ADD_MEMBER.replaceAll('KEYS[1]', 'KEYS[2]')}`

/**
 * KEYS[1] record, KEYS[2] note, ARGV[1] its text, ARGV[2] timestamp. Answers whether there was a record. A Redis that is full
 * deletes the record, whether it stores the note or not.
 */
const END_NOTED = `
if redis.call('UNLINK', KEYS[1]) == 0 then return 0 end
redis.pcall('SET', KEYS[2], ARGV[1], 'PXAT', ARGV[2])
return 1`

/** KEYS[1] key. Answers its end, -1 without one, -2 without the key. */
const END_OF = `${LAST}
return last`

/** KEYS[1] set, ARGV[1] timestamp. Answers its new end, -1 without one, -2 without the set. */
const EXTEND = `${LAST}
if last < 0 then return last end
last = math.max(tonumber(ARGV[1]), last + ${APART})
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last))
return last`

/** KEYS[1] key, ARGV[1] the end it was found with, -1 for none, ARGV[2] timestamp. */
const MOVE_END = `${LAST}
if last == -2 then return 'gone' end
local from = tonumber(ARGV[1])
if math.abs(last - from) > ${SAME} then return 'changed' end
if math.abs(tonumber(ARGV[2]) - from) <= ${SAME} then return 'same' end
redis.call('PEXPIREAT', KEYS[1], ARGV[2])
return 'moved'`

/** KEYS[1] key, ARGV[1] its value, ARGV[2] another one. Answers 0 if its value is not ARGV[1]. */
const REPLACE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1`

/**
 * KEYS[1] key, ARGV[1] another value, ARGV[2] milliseconds until its end, ARGV[3] its present value, if it exists. Answers 0 if that
 * differs.
 */
const CHANGE = `
if redis.call('GET', KEYS[1]) ~= (ARGV[3] or false) then return 0 end
local lifetime = math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1]))
redis.call('SET', KEYS[1], ARGV[1], 'PX', string.format('%.0f', lifetime))
return 1`

/** KEYS[1] set, ARGV[1] member, ARGV[2] the end that EXTEND answered, ARGV[3] timestamp. */
const END_WITH = `${LAST}
if last >= 0 and math.abs(last - tonumber(ARGV[2])) <= ${SAME}
  and redis.call('SCARD', KEYS[1]) == 1 and redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then
  redis.call('PEXPIREAT', KEYS[1], ARGV[3])
end
return 1`

/** Members that have ended and are removed with each that is added, at most: the set shrinks, and Redis never stalls. */
const ENDED_AT_ONCE = 100

/** `now`: the clock of Redis in milliseconds. */
export const NOW = `
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
`

/** KEYS[1] sorted set, ARGV[1] member, which ends at `at`. */
const endingAdd = (at: string): string => `${LAST}${NOW}
local at = ${at}
local ended = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ${ENDED_AT_ONCE})
if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
redis.call('ZADD', KEYS[1], string.format('%.0f', at), ARGV[1])
redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', math.max(at, last)))
return 1`

/** ARGV[2] the timestamp of its end. */
const ENDING_ADD = endingAdd('tonumber(ARGV[2])')

/** ARGV[2] milliseconds until its end. */
const ENDING_ADD_FOR = endingAdd('now + ARGV[2]')

/** KEYS[1] sorted set. Answers how many members have not ended. */
const ENDING_COUNT = `${NOW}
return redis.call('ZCOUNT', KEYS[1], '(' .. string.format('%.0f', now), '+inf')`

/** KEYS[1] sorted set, ARGV[1] offset, ARGV[2] limit. Answers how many members have not ended, and some of them, the next to end first. */
const ENDING_PAGE = `${NOW}
local live = '(' .. string.format('%.0f', now)
local answer = redis.call('ZRANGEBYSCORE', KEYS[1], live, '+inf', 'LIMIT', ARGV[1], ARGV[2])
table.insert(answer, 1, redis.call('ZCOUNT', KEYS[1], live, '+inf'))
return answer`

/**
 * KEYS[1] set, ARGV[1] cursor, ARGV[2] about how many members. Answers where to go on, the members, and, where there are
 * several pages, which process of Redis counts them; '' if the user of Redis may not know.
 */
const SCAN = `
local page = redis.call('SSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
if ARGV[1] == '0' and page[1] == '0' then return { page[1], page[2], '' } end
local info = redis.pcall('INFO', 'server')
return { page[1], page[2], type(info) == 'string' and string.match(info, 'run_id:(%w+)') or '' }`

/** KEYS[1] counter, ARGV[1] window in milliseconds. */
const COUNT = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return { count, redis.call('PTTL', KEYS[1]) }`

/**
 * KEYS[1] sorted set of attempts under way, ARGV[1] id, ARGV[2] milliseconds until it ends by itself, ARGV[3] how many begin at
 * most. Answers how many are under way with it; 0 if it did not begin.
 */
const ATTEMPT_BEGIN = `${NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
redis.call('ZREM', KEYS[1], ARGV[1])
local others = redis.call('ZCARD', KEYS[1])
if others >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[2]), ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return others + 1`

/** KEYS[1] counter, ARGV[1] the count to set, ARGV[2] window in milliseconds. Answers 0 if the count is not greater. */
const RAISE = `
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

/** `version`: of two changes on one server the later has the higher, in microseconds. */
export const VERSION = `
local time = redis.call('TIME')
local version = time[1] * 1000000 + time[2]
`

/** How long a kickout is counted, in milliseconds: longer than any login can be under way. */
const KICKOUT_LIFETIME = 300_000

/** KEYS[1] counter of a user's kickouts. It begins with a time: a login that overlaps its end finds another number afterwards. */
const KICKOUT_COUNT = `${VERSION}
local first = string.format('%.0f', version)
if redis.call('SET', KEYS[1], first, 'PX', ${KICKOUT_LIFETIME}, 'NX') then return version end
return redis.call('INCR', KEYS[1])`

/** KEYS[1] counter of a user's kickouts, ARGV[1] what was counted on another server. */
const KICKOUT_REPEAT = `
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ${KICKOUT_LIFETIME})
return 1`

/** KEYS[1] disable record, ARGV[1] timestamp. Answers the end that it replaced (-1 none, -2 no record), and a version. */
const DISABLE_SET = `${LAST}${VERSION}
redis.call('SET', KEYS[1], '1', 'PXAT', ARGV[1])
return { last, version }`

/** KEYS[1] disable record. Answers as DISABLE_SET does. */
const DISABLE_UNTIE = `${LAST}${VERSION}
redis.call('UNLINK', KEYS[1])
return { last, version }`

/**
 * KEYS[1] disable record, ARGV[1] its end after a change on another server, 0 when it was untied, ARGV[2…] ends that this
 * change replaced. A record that has one of those missed the change. A longer one that has none of them is a later change
 * by another program, and stays.
 */
const DISABLE_REPEAT = `${LAST}
local till = tonumber(ARGV[1])
local missed = false
for i = 2, #ARGV do
  if last >= 0 and math.abs(last - tonumber(ARGV[i])) <= ${SAME} then missed = true end
end
if till == 0 then
  if missed then redis.call('UNLINK', KEYS[1]) end
elseif missed or last == -2 or (last >= 0 and till > last) then
  redis.call('SET', KEYS[1], '1', 'PXAT', ARGV[1])
end
return 1`

/** KEYS[1] stream, ARGV[1] milliseconds until an entry is dropped, ARGV[2] most entries, ARGV[3…] entries. */
const JOURNAL_APPEND = `
for i = 3, #ARGV do redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', 'change', ARGV[i]) end
local now = redis.call('TIME')
local oldest = now[1] * 1000 + math.floor(now[2] / 1000) - ARGV[1]
redis.call('XTRIM', KEYS[1], 'MINID', '~', string.format('%.0f', oldest))
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return #ARGV - 2`

/** Take two keys, which only a server without slots has in one place. */
export const TWO_KEY_SCRIPTS = { sessionEnter: ENTER, sessionEndNoted: END_NOTED } as const

/** Each becomes a command of the client under its name; all take one key first. */
export const SCRIPTS = {
  sessionAddMember: ADD_MEMBER,
  sessionExtend: EXTEND,
  sessionEndWith: END_WITH,
  sessionScan: SCAN,
  keyEnd: END_OF,
  keyMoveEnd: MOVE_END,
  keyReplace: REPLACE,
  keyChange: CHANGE,
  windowCount: COUNT,
  attemptBegin: ATTEMPT_BEGIN,
  windowRaise: RAISE,
  endingAdd: ENDING_ADD,
  endingAddFor: ENDING_ADD_FOR,
  endingCount: ENDING_COUNT,
  endingPage: ENDING_PAGE,
  kickoutCount: KICKOUT_COUNT,
  kickoutRepeat: KICKOUT_REPEAT,
  disableSet: DISABLE_SET,
  disableUntie: DISABLE_UNTIE,
  disableRepeat: DISABLE_REPEAT,
  journalAppend: JOURNAL_APPEND,
} as const

export interface Scripts {
  sessionEnter(key: string, set: string, member: string, timestamp: number, text: string): Promise<number>
  sessionEndNoted(key: string, note: string, text: string, timestamp: number): Promise<number>
  sessionAddMember(key: string, member: string, timestamp: number): Promise<number>
  sessionExtend(key: string, timestamp: number): Promise<number>
  sessionEndWith(key: string, member: string, from: number, to: number): Promise<number>
  sessionScan(key: string, cursor: string, count: number): Promise<[next: string, members: string[], server: string]>
  keyEnd(key: string): Promise<number>
  keyMoveEnd(key: string, from: number, to: number): Promise<'moved' | 'same' | 'changed' | 'gone'>
  keyReplace(key: string, from: string, to: string): Promise<0 | 1>
  keyChange(key: string, to: string, lifetime: number, ...from: string[]): Promise<0 | 1>
  windowCount(key: string, window: number): Promise<[number, number]>
  attemptBegin(key: string, id: string, lifetime: number, most: number): Promise<number>
  windowRaise(key: string, count: number, window: number): Promise<0 | 1>
  endingAdd(key: string, member: string, timestamp: number): Promise<number>
  endingAddFor(key: string, member: string, lifetime: number): Promise<number>
  endingCount(key: string): Promise<number>
  endingPage(key: string, offset: number, limit: number): Promise<[total: number, ...members: string[]]>
  kickoutCount(key: string): Promise<number>
  kickoutRepeat(key: string, count: number): Promise<number>
  disableSet(key: string, timestamp: number): Promise<[replaced: number, version: number]>
  disableUntie(key: string): Promise<[replaced: number, version: number]>
  disableRepeat(key: string, timestamp: number, ...replaced: number[]): Promise<number>
  journalAppend(key: string, window: number, most: number, ...entries: string[]): Promise<number>
}
