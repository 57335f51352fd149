/*
 * The table of names, as functions of the scripts: an ordered table of every suffix of every name, cut after MAX_SUFFIX
 * characters, so that whatever a name contains is the beginning of an entry. One ZSET of them would cost some 110 bytes
 * an entry, mostly Redis' own; leaves of packed lines cost the text and a few bytes. An entry stands in the last leaf
 * whose name is not above it; within a leaf there is no order. A look-up is one step in `leaves` and one leaf.
 */

/** Characters of a suffix that the table holds; what is longer is compared with the whole name. */
export const MAX_SUFFIX = 16

/** Bytes; some thirty entries. Smaller ones cost more memory, larger ones more time. */
const MAX_LEAF = 1024
/** A leaf that shrinks below this is put together with the one before it, if both fit. */
const SMALL_LEAF = 256

/** `rename` replaces the names of a user; `entriesOf` and `change` do it entry by entry. Need `names`, `leaves`, `scratch`. */
export const NAMES = String.raw`
local function leafOf(entry)
  return redis.call('ZREVRANGEBYLEX', leaves, '[' .. entry, '-', 'LIMIT', 0, 1)[1] or ''
end

local function split(leaf, held)
  local listed = {}
  for entry in string.gmatch(held, '[^\n]+') do
    listed[#listed + 1] = 0
    listed[#listed + 1] = entry
  end
  redis.call('ZADD', scratch, unpack(listed))
  local sorted = redis.call('ZRANGE', scratch, 0, -1)
  redis.call('DEL', scratch)
  local half = math.floor(#sorted / 2)
  if half == 0 then return end
  local upper = sorted[half + 1]
  redis.call('HSET', names, leaf, '\n' .. table.concat(sorted, '\n', 1, half) .. '\n',
    upper, '\n' .. table.concat(sorted, '\n', half + 1) .. '\n')
  redis.call('ZADD', leaves, 0, upper)
end

local function write(leaf, held)
  if #held > 1 or leaf ~= '' then redis.call('HSET', names, leaf, held) else redis.call('HDEL', names, leaf) end
end

local function mergeWithOther(leaf)
  local held = redis.call('HGET', names, leaf)
  local before = redis.call('ZREVRANGEBYLEX', leaves, '(' .. leaf, '-', 'LIMIT', 0, 1)[1] or ''
  local other = redis.call('HGET', names, before) or '\n'
  if not held or #other + #held > ${MAX_LEAF - SMALL_LEAF} then return end
  redis.call('ZREM', leaves, leaf)
  redis.call('HDEL', names, leaf)
  write(before, other .. string.sub(held, 2))
end

local function changed(held, entry, present)
  local from, to = string.find(held, '\n' .. entry .. '\n', 1, true)
  if present then return from and held or held .. entry .. '\n' end
  return from and string.sub(held, 1, from) .. string.sub(held, to + 1) or held
end

local function change(entries)
  local list, entriesIn = {}, {}
  for entry in pairs(entries) do
    local leaf = leafOf(entry)
    if not entriesIn[leaf] then
      entriesIn[leaf] = {}
      list[#list + 1] = leaf
    end
    table.insert(entriesIn[leaf], entry)
  end
  if #list == 0 then return end
  local held = redis.call('HMGET', names, unpack(list))
  for i, leaf in ipairs(list) do
    held[i] = held[i] or '\n'
    for _, entry in ipairs(entriesIn[leaf]) do held[i] = changed(held[i], entry, entries[entry]) end
    write(leaf, held[i])
  end
  for i, leaf in ipairs(list) do
    if #held[i] > ${MAX_LEAF} then
      split(leaf, held[i])
    elseif #held[i] < ${SMALL_LEAF} and leaf ~= '' then
      mergeWithOther(leaf)
    end
  end
end

local function entriesOf(text, user, present)
  local entries = {}
  for name in string.gmatch(text, '[^\t]+') do
    local starts = {}
    for at in string.gmatch(name, '()[%z\1-\127\192-\255]') do starts[#starts + 1] = at end
    for i, at in ipairs(starts) do
      local last = (starts[i + ${MAX_SUFFIX}] or #name + 1) - 1
      entries[string.sub(name, at, last) .. '\0' .. user] = present
    end
  end
  return entries
end

local function rename(user, before, after)
  if before == after then return end
  local entries, new = entriesOf(before, user, false), entriesOf(after, user, true)
  for entry in pairs(new) do entries[entry] = entries[entry] == nil or nil end
  change(entries)
end
`
