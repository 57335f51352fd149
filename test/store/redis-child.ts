import { login, open, outcomeOf, UNAVAILABLE } from './redis-trial.ts'

/*
 * A process of its own: signs a user in, reads the session, closes the store and prints the answer. Its arguments are the
 * address of Redis and `store.timeout` in milliseconds.
 */

const [url, timeout] = process.argv.slice(2)
const store = await open({ url: url! }, Number(timeout))
const token = await outcomeOf(() => login(store))
const found = token === UNAVAILABLE ? token : await outcomeOf(() => store.sessions.find('BUSINESS', token))
await store.close()
process.stdout.write(found === UNAVAILABLE ? found : String(found?.user_id))
