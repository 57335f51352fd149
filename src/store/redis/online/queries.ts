import { DIGEST_LENGTH } from './user-lines.ts'

/* The queries of the online keys, as scripts that change nothing. */

/** Expired entries that a question looks past to be exact; a sweep that is this far behind makes it a little less so. */
const MAX_OVERDUE = 1000

/** ARGV: now. Answers users, tokens, and the most tokens of one user. */
export const TALLY = `
local live = '(' .. ARGV[1]
local all = redis.call('ZCOUNT', online, live, '+inf')
local overdue = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', tokens, '-inf', ARGV[1], 'LIMIT', 0, ${MAX_OVERDUE})) do
  local user = string.sub(member, ${DIGEST_LENGTH + 1})
  overdue[user] = (overdue[user] or 0) + 1
end
local most = math.min(all, 1)
local at = 0
repeat
  local top = redis.call('ZREVRANGE', counts, at, at + 9, 'WITHSCORES')
  for i = 1, #top, 2 do
    if tonumber(top[i + 1]) <= most then at = nil break end
    most = math.max(most, tonumber(top[i + 1]) - (overdue[top[i]] or 0))
  end
  if at then at = at + 10 end
until not at or #top == 0 or at > ${MAX_OVERDUE}
return { all, redis.call('ZCOUNT', tokens, live, '+inf'), most }`

/** ARGV: now, offset, limit. Answers how many users there are, then those of the page. */
export const PAGE = `
local answer = { redis.call('ZCOUNT', online, '(' .. ARGV[1], '+inf') }
local overdue, ranks = {}, {}
for _, user in ipairs(redis.call('ZRANGEBYSCORE', online, '-inf', ARGV[1], 'LIMIT', 0, ${MAX_OVERDUE})) do
  overdue[user] = true
  ranks[#ranks + 1] = redis.call('ZRANK', recent, user) or nil
end
table.sort(ranks)
local from, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local past = 0
for _, rank in ipairs(ranks) do
  if rank > from then break end
  from = from + 1
  past = past + 1
end
for _, user in ipairs(redis.call('ZRANGE', recent, from, from + limit - 1 + #ranks - past)) do
  if #answer > limit then break end
  if not overdue[user] then answer[#answer + 1] = user end
end
return answer`

/**
 * ARGV: a part of a name, how many leaves at most, the last leaf of the answer before or ''. Answers the last leaf, and the
 * leaves that may hold names it begins.
 */
export const SEARCH = String.raw`
local found = {}
local from = ARGV[3]
if from == '' then
  found[1] = leafOf(ARGV[1])
  from = ARGV[1]
end
local more = redis.call('ZRANGEBYLEX', leaves, '(' .. from, '[' .. ARGV[1] .. '\255', 'LIMIT', 0, ARGV[2] - #found)
for _, leaf in ipairs(more) do found[#found + 1] = leaf end
if #found == 0 then return { '' } end
local answer = redis.call('HMGET', names, unpack(found))
table.insert(answer, 1, found[#found])
return answer`
