// The part of `npm test` that keeps what V8 compiles of the joined modules: what a gateway with a login needs.
import { startFixture } from '../.compiled/test/support/gateway-fixture.js'
import load from '../test/joined.cjs'

load('tap')
const fixture = await startFixture()
await fixture.signIn()
await fixture.operate('consumer', 'login', { user_id: '1' })
await fixture.close()
load.keepCompiled()
