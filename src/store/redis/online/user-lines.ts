import { DAY } from '../../../base/clock.ts'

/*
 * The users' lines, as functions of the scripts. A line is a token: digest, creation, names, line feed. The user's newest
 * comes first, and what is said of a user in the other keys follows from the lines. Of a user with very many tokens the
 * older ones are in an ordered set of the user's own, without names, so that no script works on more than some hundred.
 */

/** Characters of a token's digest; the creation's digits follow. */
export const DIGEST_LENGTH = 12
export const CREATED_LENGTH = 14

/** Lines of a user at most; and when there are fewer than this, older tokens come back into lines. */
export const MAX_LINES = 100
export const FEW_LINES = 50

/** No key is permanent: each outlives its sessions by a day, and on an unused side by at most this time. */
const MAX_LIFETIME = 400 * DAY

/** Tokens that come, move and go; `keep` lets the keys live as long as they have to. */
export const LINES = String.raw`
local function createdOf(lines, at) return string.sub(lines, at + ${DIGEST_LENGTH}, at + ${DIGEST_LENGTH + CREATED_LENGTH - 1}) end

local function namesOf(lines)
  if lines == '' then return '' end
  return string.sub(lines, ${DIGEST_LENGTH + CREATED_LENGTH + 1}, string.find(lines, '\n', 1, true) - 1)
end

local function olderOf(user) return users .. ':' .. user end

local function countLines(lines)
  local _, n = string.gsub(lines, '\n', '')
  return n
end

local function isKnown(user, digest, lines)
  return string.find(lines, digest, 1, true) or redis.call('ZSCORE', olderOf(user), digest)
end

-- Of a user with older tokens this is no earlier than the last of them: it stays where it was, or moves on.
local function lastEnd(user, lines)
  local last = 0
  for line in string.gmatch(lines, '[^\n]+') do
    local ends = redis.call('ZSCORE', tokens, string.sub(line, 1, ${DIGEST_LENGTH}) .. user)
    if ends then last = math.max(last, tonumber(ends)) end
  end
  if redis.call('EXISTS', olderOf(user)) == 1 then
    last = math.max(last, tonumber(redis.call('ZSCORE', online, user) or 0))
  end
  return last
end

local function forget(user)
  redis.call('HDEL', users, user)
  redis.call('UNLINK', olderOf(user))
  redis.call('ZREM', online, user)
  redis.call('ZREM', recent, user)
  redis.call('ZREM', counts, user)
end

local function count(user, n)
  if n > 1 then redis.call('ZADD', counts, n, user) else redis.call('ZREM', counts, user) end
end

local function move(user, digest, ends, lines)
  redis.call('ZADD', tokens, ends, digest .. user)
  redis.call('ZADD', online, 'GT', ends, user)
  redis.call('ZADD', online, lastEnd(user, lines), user)
end

-- The lines without those that are too many, which are kept as older tokens.
local function shortened(user, lines)
  local surplus = countLines(lines) - ${MAX_LINES}
  if surplus <= 0 then return lines end
  local kept, n = {}, 0
  for line in string.gmatch(lines, '[^\n]+\n') do
    n = n + 1
    if n <= ${MAX_LINES} then
      kept[n] = line
    else
      redis.call('ZADD', olderOf(user), '-' .. createdOf(line, 1), string.sub(line, 1, ${DIGEST_LENGTH}))
    end
  end
  return table.concat(kept)
end

local function enter(user, digest, created, called, ends)
  local before = redis.call('HGET', users, user) or ''
  if before == '' then
    redis.call('UNLINK', olderOf(user))
  elseif isKnown(user, digest, before) then
    move(user, digest, ends, before)
    return false
  end
  local at = 1
  while at <= #before and tonumber(created) < tonumber(createdOf(before, at)) do
    at = string.find(before, '\n', at, true) + 1
  end
  if at > #before and redis.call('EXISTS', olderOf(user)) == 1 then
    redis.call('ZADD', olderOf(user), '-' .. created, digest)
  else
    local line = digest .. created .. called .. '\n'
    redis.call('HSET', users, user, shortened(user, string.sub(before, 1, at - 1) .. line .. string.sub(before, at)))
  end
  redis.call('ZADD', tokens, ends, digest .. user)
  redis.call('ZADD', online, 'GT', ends, user)
  if at == 1 then
    redis.call('ZADD', recent, '-' .. created, user)
    rename(user, namesOf(before), called)
  end
  if before ~= '' then count(user, (tonumber(redis.call('ZSCORE', counts, user)) or 1) + 1) end
  return true
end

-- Where few lines are left, the newest of the older tokens become lines, with the names of the line before them.
local function refill(user, lines, called)
  if #lines >= ${FEW_LINES} then return end
  local older = redis.call('ZRANGE', olderOf(user), 0, ${MAX_LINES} - #lines - 1, 'WITHSCORES')
  for i = 1, #older, 2 do
    lines[#lines + 1] = older[i] .. string.format('%014.0f', -tonumber(older[i + 1])) .. called .. '\n'
    redis.call('ZREM', olderOf(user), older[i])
  end
end

local function leave(user, gone)
  local before = redis.call('HGET', users, user)
  if not before then return end
  local kept, left = {}, 0
  for line in string.gmatch(before, '[^\n]+\n') do
    if gone[string.sub(line, 1, ${DIGEST_LENGTH})] then left = left + 1 else kept[#kept + 1] = line end
  end
  local digests, members = {}, {}
  for digest in pairs(gone) do
    digests[#digests + 1] = digest
    members[#members + 1] = digest .. user
  end
  left = left + redis.call('ZREM', olderOf(user), unpack(digests))
  if left == 0 then return end
  redis.call('ZREM', tokens, unpack(members))
  refill(user, kept, namesOf(kept[#kept] or before))
  local after = table.concat(kept)
  if after == '' then
    forget(user)
  else
    redis.call('HSET', users, user, after)
    redis.call('ZADD', online, lastEnd(user, after), user)
    redis.call('ZADD', recent, '-' .. createdOf(after, 1), user)
    count(user, #kept + redis.call('ZCARD', olderOf(user)))
  end
  rename(user, namesOf(before), namesOf(after))
end

local function keep(now, ends, user)
  local last = math.min(ends, now + ${MAX_LIFETIME})
  for _, key in ipairs({ online, tokens, recent, counts, users, names, leaves, olderOf(user) }) do
    local left = redis.call('PTTL', key)
    if left > -2 and left < last - now then
      redis.call('PEXPIREAT', key, string.format('%.0f', last + ${DAY}))
    end
  end
end
`

/** What a user's lines say, said again in every key. */
export const STRAIGHTEN = `
local function straighten(user)
  local lines = redis.call('HGET', users, user)
  if not lines then return forget(user) end
  redis.call('ZADD', online, lastEnd(user, lines), user)
  redis.call('ZADD', recent, '-' .. createdOf(lines, 1), user)
  count(user, countLines(lines) + redis.call('ZCARD', olderOf(user)))
  change(entriesOf(namesOf(lines), user, true))
end
`
