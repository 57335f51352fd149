-- A session check as one writes it for nginx: the HMAC of the token by OpenSSL, one GET on a kept connection to Redis.
local ffi = require("ffi")
ffi.cdef([[
  const void *EVP_sha256(void);
  unsigned char *HMAC(const void *evp_md, const void *key, int key_len, const unsigned char *d, size_t n,
                      unsigned char *md, unsigned int *md_len);
]])

local Session = {}
Session.__index = Session
local digest = ffi.new("unsigned char[32]")

function Session.new(secret, redis_port)
  return setmetatable({ secret = secret, port = redis_port }, Session)
end

local function base64url(bytes)
  return (ngx.encode_base64(bytes, true):gsub("+", "-"):gsub("/", "_"))
end

function Session:is_signed(token)
  local text, signature = token:match("^([%w_-]+%.[%w_-]+)%.([%w_-]+)$")
  if not text then return false end
  ffi.C.HMAC(ffi.C.EVP_sha256(), self.secret, #self.secret, text, #text, digest, nil)
  return base64url(ffi.string(digest, 32)) == signature
end

function Session:get(key)
  local socket = ngx.socket.tcp()
  socket:settimeouts(1000, 1000, 1000)
  if not socket:connect("127.0.0.1", self.port) then ngx.exit(503) end
  socket:send("*2\r\n$3\r\nGET\r\n$" .. #key .. "\r\n" .. key .. "\r\n")
  local head = socket:receive("*l")
  if not head then ngx.exit(503) end
  local length = tonumber(head:sub(2))
  local value
  if length >= 0 then
    value = socket:receive(length)
    socket:receive(2)
  end
  socket:setkeepalive(60000, 256)
  return value
end

function Session:check()
  local token = (ngx.var.http_authorization or ""):match("^Bearer (.+)$")
  if not token or not self:is_signed(token) then return ngx.exit(401) end
  local record = self:get("svc:auth:CONSUMER:token:" .. token)
  if not record then return ngx.exit(401) end
  ngx.var.login_id = record:match('"user_id":"([^"]+)"')
end

return Session
