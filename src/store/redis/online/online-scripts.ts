import { DAY } from '../../../base/clock.ts'
import { NAMES } from './names.ts'
import { PAGE, SEARCH, TALLY } from './queries.ts'
import { DIGEST_LENGTH, LINES, STRAIGHTEN } from './user-lines.ts'

/*
 * The online keys: in them Redis holds the online users of one side. Scripts change them in one step. All keys of a side lie
 * in one slot of a Cluster (keys.ts), so each script is one command to one node. Timestamps are milliseconds since the epoch by
 * the client's clock.
 *
 *   online   ZSET  user id by the end of the user's last session      how many users
 *   tokens   ZSET  digest + user id by the end of the token           how many tokens; what to sweep
 *   recent   ZSET  user id by the newest creation, negative           the order of pages
 *   counts   ZSET  user id by tokens, of those who have several       the most of one user
 *   users    HASH  user id -> a line per token, the newest first: digest, creation (14 digits), names, line feed
 *   users:…  ZSET  of a user with very many tokens: the digests of the older ones by creation, negative
 *   names    HASH  leaf -> entries, each in a line: a part of a name, NUL, user id
 *   disabled ZSET  disabled login ids by the end of the disable
 *   leaves   ZSET  leaves but the first, by their names: an entry stands in the last leaf whose name is not above it
 *   ended    ZSET  digests of tokens that were ended, by when that may be forgotten
 *   logins   HASH  'd' + day and 'm' + minute since the epoch -> logins
 *   scratch        only exists within a script
 *
 * Because of `ended` the order of arrival does not matter: a login that arrives after the end of its token changes
 * nothing.
 */

/** How long the end of a token is remembered: longer than the news of its login can be under way. */
const REMEMBER_ENDED = 60_000

/** Ended tokens that one sweep forgets. */
export const FORGOTTEN_AT_ONCE = 200

const LOGINS_LIFETIME = 10 * DAY
/** Fields of `logins`: the minutes of a day and some days. Once there are so many, the oldest are dropped. */
const MAX_LOGIN_FIELDS = 2000
const KEPT_MINUTES = 1500
const KEPT_DAYS = 60

export const ONLINE_KEYS = [
  'online',
  'tokens',
  'recent',
  'counts',
  'users',
  'names',
  'leaves',
  'ended',
  'logins',
  'scratch',
] as const

const TABLES = `local ${ONLINE_KEYS.join(', ')} = unpack(KEYS)\n`

/** ARGV: now, user id, digest, creation, names, end; the day and the minute of the login, or '' where it does not count. */
const ENTER = `
local function drop(letter, keptFields)
  local found = {}
  for _, field in ipairs(redis.call('HKEYS', logins)) do
    if string.sub(field, 1, 1) == letter then found[#found + 1] = tonumber((string.gsub(field, '%D', ''))) end
  end
  table.sort(found)
  local oldest = found[#found - keptFields]
  if not oldest then return end
  for _, field in ipairs(redis.call('HKEYS', logins)) do
    if string.sub(field, 1, 1) == letter and tonumber((string.gsub(field, '%D', ''))) <= oldest then
      redis.call('HDEL', logins, field)
    end
  end
end

local now, user, digest, created, called, ends, day, minute = unpack(ARGV)
if redis.call('ZSCORE', ended, digest) then return 0 end
local new = enter(user, digest, created, called, ends)
keep(tonumber(now), tonumber(ends), user)
if new and day .. minute ~= '' then
  if day ~= '' then redis.call('HINCRBY', logins, 'd' .. day, 1) end
  if minute ~= '' then redis.call('HINCRBY', logins, 'm' .. minute, 1) end
  redis.call('PEXPIRE', logins, ${LOGINS_LIFETIME})
  if redis.call('HLEN', logins) > ${MAX_LOGIN_FIELDS} then
    drop('m', ${KEPT_MINUTES})
    drop('d', ${KEPT_DAYS})
  end
end
return 1`

/** ARGV: now, user id, digests. */
const LEAVE = `
local gone, remembered = {}, {}
for i = 3, #ARGV do
  gone[ARGV[i]] = true
  remembered[#remembered + 1] = ARGV[1] + ${REMEMBER_ENDED}
  remembered[#remembered + 1] = ARGV[i]
end
redis.call('ZADD', ended, unpack(remembered))
redis.call('PEXPIRE', ended, ${REMEMBER_ENDED})
leave(ARGV[2], gone)
return 1`

/** ARGV: now, user id, digest, end. Answers 0 when the online keys do not hold the token. */
const MOVE = `
local lines = redis.call('HGET', users, ARGV[2])
if not lines or not isKnown(ARGV[2], ARGV[3], lines) then return 0 end
move(ARGV[2], ARGV[3], ARGV[4], lines)
keep(tonumber(ARGV[1]), tonumber(ARGV[4]), ARGV[2])
return 1`

/** ARGV: now, how many tokens at most. Removes what has expired; answers how many tokens that were, and how many ended ones it forgot. */
const SWEEP = `
local forgotten = redis.call('ZRANGEBYSCORE', ended, '-inf', ARGV[1], 'LIMIT', 0, ${FORGOTTEN_AT_ONCE})
if #forgotten > 0 then redis.call('ZREM', ended, unpack(forgotten)) end
local due = redis.call('ZRANGEBYSCORE', tokens, '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
local ofUser = {}
for _, member in ipairs(due) do
  local user = string.sub(member, ${DIGEST_LENGTH + 1})
  ofUser[user] = ofUser[user] or {}
  ofUser[user][string.sub(member, 1, ${DIGEST_LENGTH})] = true
end
for user, gone in pairs(ofUser) do leave(user, gone) end
if #due > 0 then redis.call('ZREM', tokens, unpack(due)) end
if #due < tonumber(ARGV[2]) then
  for _, user in ipairs(redis.call('ZRANGEBYSCORE', online, '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])) do straighten(user) end
end
return { #due, #forgotten }`

/** ARGV: user ids. */
const REPAIR = `
for _, user in ipairs(ARGV) do straighten(user) end
return 1`

/** ARGV: which of the ordered keys, cursor, how many. Removes what belongs to no user; answers the next cursor. */
const PRUNE = `
local key = ({ online = online, tokens = tokens, recent = recent, counts = counts })[ARGV[1]]
local page = redis.call('ZSCAN', key, ARGV[2], 'COUNT', ARGV[3])
for i = 1, #page[2], 2 do
  local member = page[2][i]
  local known
  if ARGV[1] == 'tokens' then
    local lines = redis.call('HGET', users, string.sub(member, ${DIGEST_LENGTH + 1}))
    known = lines and isKnown(string.sub(member, ${DIGEST_LENGTH + 1}), string.sub(member, 1, ${DIGEST_LENGTH}), lines)
  else
    known = redis.call('HEXISTS', users, member) == 1
  end
  if not known then redis.call('ZREM', key, member) end
end
return page[1]`

/** ARGV: cursor, how many leaves. The same for the entries of names. */
const PRUNE_NAMES = String.raw`
local page = redis.call('HSCAN', names, ARGV[1], 'COUNT', ARGV[2])
for i = 2, #page[2], 2 do
  for entry in string.gmatch(page[2][i], '[^\n]+') do
    local user = string.sub(entry, string.find(entry, '\0', 1, true) + 1)
    local called = namesOf(redis.call('HGET', users, user) or '')
    if not entriesOf(called, user, true)[entry] then change({ [entry] = false }) end
  end
end
return page[1]`

/**
 * KEYS[1] upkeep; ARGV: now, pause between sweeps, pause between rounds. One gateway sweeps at a time: answers nothing to
 * the others, and to this one where its round over the online users goes on, and where that over the session sets;
 * '' for one that was begun lately and is complete.
 */
export const CLAIM = `
local at = redis.call('HGET', KEYS[1], 'at')
local now = tonumber(ARGV[1])
if at and math.abs(now - tonumber(at)) < tonumber(ARGV[2]) then return false end
redis.call('HSET', KEYS[1], 'at', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${DAY})
local function turn(position, start)
  local reached, began = unpack(redis.call('HMGET', KEYS[1], position, start))
  if (reached or '0') ~= '0' then return reached end
  if began and math.abs(now - tonumber(began)) < tonumber(ARGV[3]) then return '' end
  redis.call('HSET', KEYS[1], start, ARGV[1])
  return '0'
end
return { turn('cursor', 'began'), turn('sets', 'sets-began') }`

const CHANGES = TABLES + NAMES + LINES

/** Each becomes a command of the client under its name; all take the online keys of a side first. */
export const ONLINE_SCRIPTS = {
  onlineEnter: CHANGES + ENTER,
  onlineLeave: CHANGES + LEAVE,
  onlineMove: CHANGES + MOVE,
  onlineSweep: CHANGES + STRAIGHTEN + SWEEP,
  onlineRepair: CHANGES + STRAIGHTEN + REPAIR,
  onlinePrune: CHANGES + PRUNE,
  onlinePruneNames: CHANGES + PRUNE_NAMES,
  onlineTally: TABLES + TALLY,
  onlinePage: TABLES + PAGE,
  onlineSearch: CHANGES + SEARCH,
} as const
