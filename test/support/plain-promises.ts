import hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

/*
 * tap follows every promise of a test file with an async hook, to name the test that left an error behind. Where a file
 * makes millions of promises, that costs more than the test itself. Imported before tap, this module turns it off: an
 * error that nothing catches ends the process, and the file fails.
 */
hooks.createHook = () => {
  const unused = { enable: () => unused, disable: () => unused }
  return unused
}
syncBuiltinESMExports()
