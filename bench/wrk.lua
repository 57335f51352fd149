-- Requests made once, one per head in the file and sent in turn; what came of them as one line of JSON.
local requests, at = {}, 0

function init(args)
  local body = string.rep("x", tonumber(args[2]))
  local heads = io.open(args[1], "rb"):read("*a")
  local from = 1
  while from <= #heads do
    local _, to = heads:find("\r\n\r\n", from, true)
    requests[#requests + 1] = heads:sub(from, to) .. body
    from = to + 1
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\n{"answered":%d,"rate":%.2f,"p50":%.3f,"p90":%.3f,"p99":%.3f,"failed":%d}\n',
    summary.requests, summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(90) / 1000,
    latency:percentile(99) / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
