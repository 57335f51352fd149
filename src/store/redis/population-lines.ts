/*
 * The users' lines, as functions of the scripts. A line is a token: digest, creation, names, line feed. The user's newest
 * comes first, and what is said of a user in the other keys follows from the lines.
 */

/** Characters of a token's digest; the creation's digits follow. */
export const DIGEST_LENGTH = 12
export const CREATED_LENGTH = 14

const DAY = 86_400_000
/** No key lasts for ever: each outlives the sessions it tells of by a day, and a side nobody uses by this at most. */
const MAX_LIFETIME = 400 * DAY

/** Tokens that come, move and go; `keep` lets the keys live as long as they have to. */
export const LINES = String.raw`
local function createdOf(lines, at) return string.sub(lines, at + ${DIGEST_LENGTH}, at + ${DIGEST_LENGTH + CREATED_LENGTH - 1}) end

local function namesOf(lines)
  if lines == '' then return '' end
  return string.sub(lines, ${DIGEST_LENGTH + CREATED_LENGTH + 1}, string.find(lines, '\n', 1, true) - 1)
end

local function lastEnd(user, lines)
  local last = 0
  for line in string.gmatch(lines, '[^\n]+') do
    local ends = redis.call('ZSCORE', tokens, string.sub(line, 1, ${DIGEST_LENGTH}) .. user)
    if ends then last = math.max(last, tonumber(ends)) end
  end
  return last
end

local function forget(user)
  redis.call('HDEL', users, user)
  redis.call('ZREM', online, user)
  redis.call('ZREM', recent, user)
  redis.call('ZREM', counts, user)
end

local function count(user, n)
  if n > 1 then redis.call('ZADD', counts, n, user) else redis.call('ZREM', counts, user) end
end

local function move(user, digest, ends, lines)
  redis.call('ZADD', tokens, ends, digest .. user)
  redis.call('ZADD', online, lastEnd(user, lines), user)
end

local function enter(user, digest, created, called, ends)
  local before = redis.call('HGET', users, user) or ''
  if string.find(before, digest, 1, true) then
    move(user, digest, ends, before)
    return false
  end
  local at = 1
  while at <= #before and tonumber(created) < tonumber(createdOf(before, at)) do
    at = string.find(before, '\n', at, true) + 1
  end
  local line = digest .. created .. called .. '\n'
  redis.call('HSET', users, user, string.sub(before, 1, at - 1) .. line .. string.sub(before, at))
  redis.call('ZADD', tokens, ends, digest .. user)
  redis.call('ZADD', online, 'GT', ends, user)
  if at == 1 then
    redis.call('ZADD', recent, '-' .. created, user)
    rename(user, namesOf(before), called)
  end
  if before ~= '' then count(user, (tonumber(redis.call('ZSCORE', counts, user)) or 1) + 1) end
  return true
end

local function leave(user, gone)
  local before = redis.call('HGET', users, user)
  if not before then return end
  local kept, left = {}, {}
  for line in string.gmatch(before, '[^\n]+\n') do
    local digest = string.sub(line, 1, ${DIGEST_LENGTH})
    if gone[digest] then left[#left + 1] = digest .. user else kept[#kept + 1] = line end
  end
  if #left == 0 then return end
  redis.call('ZREM', tokens, unpack(left))
  local after = table.concat(kept)
  if after == '' then
    forget(user)
  else
    redis.call('HSET', users, user, after)
    redis.call('ZADD', online, lastEnd(user, after), user)
    redis.call('ZADD', recent, '-' .. createdOf(after, 1), user)
    count(user, #kept)
  end
  rename(user, namesOf(before), namesOf(after))
end

local function keep(now, ends)
  local last = math.min(ends, now + ${MAX_LIFETIME})
  for _, key in ipairs({ online, tokens, recent, counts, users, names, leaves }) do
    local left = redis.call('PTTL', key)
    if left > -2 and left < last - now then
      redis.call('PEXPIREAT', key, string.format('%.0f', last + ${DAY}))
    end
  end
end
`

/** What a user's lines say, said again in every key. */
export const STRAIGHTEN = String.raw`
local function straighten(user)
  local lines = redis.call('HGET', users, user)
  if not lines then return forget(user) end
  local _, n = string.gsub(lines, '\n', '')
  redis.call('ZADD', online, lastEnd(user, lines), user)
  redis.call('ZADD', recent, '-' .. createdOf(lines, 1), user)
  count(user, n)
  change(entriesOf(namesOf(lines), user, true))
end
`
