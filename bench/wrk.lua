-- Requests made once, one per token and sent in turn; what came of them as one line of JSON.
local requests, at = {}, 0

function init(args)
  local body = string.rep("x", tonumber(args[2]))
  local headers = { ["Host"] = wrk.headers["Host"] }
  for token in io.lines(args[1]) do
    if token ~= "-" then headers["Authorization"] = "Bearer " .. token end
    if #body > 0 then headers["Content-Type"] = "application/octet-stream" end
    requests[#requests + 1] = wrk.format(#body > 0 and "POST" or "GET", nil, headers, #body > 0 and body or nil)
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
