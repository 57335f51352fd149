/*
 * A page as the front ends in use are. Whatever its client library is: it keeps its token in localStorage, sends it with
 * every request without `Bearer`, says `application/json` with every request, and counts an answer as a success where the
 * status and the code are 200. Code 401 signs it out. At each load it requests the dictionary.
 */

const parameters = new URLSearchParams(location.search)
const gateway = parameters.get('gateway')
const HEADERS = { 'Content-Type': 'application/json' }

const token = () => localStorage.getItem('token')
const authorization = () => (token() === null ? {} : { Authorization: token() })

/** Per library: a function that sends a request and answers the status, the body and the id of the request. */
const CLIENTS = {
  fetch: () => async (method, path, query, data) => {
    const response = await fetch(`${gateway}${path}?${new URLSearchParams(query)}`, {
      method,
      headers: { ...HEADERS, ...authorization() },
      body: JSON.stringify(data),
    })
    return { status: response.status, requestId: response.headers.get('x-request-id'), body: await response.json() }
  },

  axios() {
    const instance = axios.create({ baseURL: gateway, headers: HEADERS })
    instance.interceptors.request.use(config => {
      config.headers.set(authorization())
      return config
    })
    return async (method, url, params, data) => {
      const response = await instance.request({ method, url, params, data }).catch(fault => {
        if (fault.response === undefined) throw fault
        return fault.response
      })
      return { status: response.status, requestId: response.headers['x-request-id'] ?? null, body: response.data }
    }
  },

  alova() {
    const instance = alova.createAlova({
      baseURL: gateway,
      requestAdapter: alovaFetch(),
      cacheFor: null,
      beforeRequest(method) {
        Object.assign(method.config.headers, HEADERS, authorization())
      },
      responded: async response => ({
        status: response.status,
        requestId: response.headers.get('x-request-id'),
        body: await response.json(),
      }),
    })
    return (method, path, params, data) =>
      method === 'GET' ? instance.Get(path, { params }) : instance.Post(path, data, { params })
  },
}

const request = CLIENTS[parameters.get('client')]()

async function send(method, path, query = {}, data = undefined) {
  const { status, requestId, body } = await request(method, path, query, data)
  const isSignedOut = status === 401 || body.code === 401
  if (isSignedOut) localStorage.removeItem('token')
  return { isSuccess: status === 200 && body.code === 200, status, requestId, body }
}

/** Shows a new captcha as the picture of the page, and answers its id and the width of the picture. */
async function showCaptcha() {
  const { body } = await send('GET', '/api/v1/public/b/captcha')
  const picture = document.querySelector('img')
  picture.src = body.data.captcha_base64
  await picture.decode()
  return { id: body.data.captcha_id, width: picture.naturalWidth }
}

async function signIn({ username, password, captcha_id, captcha_code }) {
  const key = await send('GET', '/api/v1/public/b/sm2/public-key')
  const answer = await send('POST', '/api/v1/public/b/login', undefined, {
    username,
    password: sm2.doEncrypt(password, key.body.data, 1),
    captcha_id,
    captcha_code,
    device_id: 'WEB_PC',
  })
  if (answer.isSuccess) localStorage.setItem('token', answer.body.data.token)
  return answer
}

/** The code with which the newest WebSocket was closed; `null` while it is open. */
let closeCode = null

/** Opens a WebSocket, sends a text and answers the first message; `null` where none came. */
function converse(path, text) {
  const socket = new WebSocket(`${gateway.replace('http', 'ws')}${path}?token=${token()}`)
  socket.onopen = () => socket.send(text)
  closeCode = null
  return new Promise(resolve => {
    socket.onmessage = ({ data }) => resolve(data)
    socket.onclose = ({ code }) => {
      closeCode = code
      resolve(null)
    }
  })
}

const dictionary = send('GET', '/api/v1/sys/dict/tree')

window.actions = {
  send,
  showCaptcha,
  signIn,
  converse,
  token,
  loaded: () => dictionary,
  closeCode: () => closeCode,
}
