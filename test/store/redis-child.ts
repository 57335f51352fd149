import { login, open, outcomeOf, UNAVAILABLE } from './redis-trial.ts'

/* A process of its own: signs a user in, reads the session, closes the store and prints the answer. */

const store = await open({ url: process.argv[2]! })
const token = await outcomeOf(() => login(store))
const found = token === UNAVAILABLE ? token : await outcomeOf(() => store.sessions.find('BUSINESS', token))
await store.close()
process.stdout.write(found === UNAVAILABLE ? found : String(found?.user_id))
