// Gets a token for a key, and calls a backend with it: with openid-client.
import * as client from 'openid-client'

const { CLIENT_ID, CLIENT_SECRET, TOKEN_URL, BACKEND, METHOD } = process.env
const named = { client_secret_basic: client.ClientSecretBasic, client_secret_post: client.ClientSecretPost }[METHOD]
const server = { issuer: new URL(TOKEN_URL).origin, token_endpoint: TOKEN_URL }
const configuration = new client.Configuration(server, CLIENT_ID, undefined, named(CLIENT_SECRET))
client.allowInsecureRequests(configuration)
const { access_token } = await client.clientCredentialsGrant(configuration)
const answer = await client.fetchProtectedResource(configuration, access_token, new URL(BACKEND), 'GET')
console.log(await answer.text())
