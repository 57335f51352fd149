import { isAddress } from '../gate/address-list.ts'
import { explainRequest, type Row } from '../http/explain.ts'
import { readConfiguration } from '../settings/load.ts'
import { createUpstreamTable } from '../upstream/table.ts'
import { askRunning } from './ask-running.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOrBuiltIn, type Written } from './command.ts'
import { readAll, say, type Terminal, UsageError } from './terminal.ts'

export const explain: Command = {
  words: 'METHOD PATH',
  summary: 'show rule, side, upstream and headers for a request',
  help: `Shows the path as it is judged, the rule that applies, the session that is needed, who answers, and what an upstream
would get. Nothing is sent.

${CONFIG_HELP}
  --live              ask the running gateway, through its internal listener and with its secret: also the decision, the
                      session, and the state of each target. Changes nothing; the session is not renewed
  --address ADDRESS   the address of the client, where the decision depends on it
  --token-stdin       with --live: read the token of the request from standard input. It is never shown

Examples:
  dualgate explain GET '/api/v1/c/orders/7?x=1'
  dualgate explain --live GET /api/v1/c/orders/7 --token-stdin < token.txt`,
  options: {
    ...CONFIG_OPTION,
    live: { type: 'boolean' },
    address: { type: 'string' },
    'token-stdin': { type: 'boolean' },
  },
  async run(written, terminal) {
    const [method, target, ...more] = written.words
    if (method === undefined || target === undefined || more.length > 0) {
      throw new UsageError("explain takes a method and a path: explain GET '/api/v1/c/orders/7?x=1'")
    }
    const rows = await rowsOf(method.toUpperCase(), target, written, terminal)
    say(terminal.output, ...rows.map(([name, value]) => name.padEnd(16) + value))
    return 0
  },
}

async function rowsOf(method: string, target: string, written: Written, terminal: Terminal): Promise<Row[]> {
  const { environment, cwd, input } = terminal
  const { settings } = readConfiguration(configOrBuiltIn(written, cwd), environment, cwd, { secretsNeeded: false })
  const address = addressIn(written)
  const hasToken = written.values['token-stdin'] === true
  if (written.values.live === true) {
    const token = hasToken ? (await readAll(input)).trim() : ''
    return askRunning(settings, {
      method,
      target,
      ...(token !== '' && { token }),
      ...(address !== null && { address }),
    })
  }
  if (hasToken) throw new UsageError('--token-stdin needs --live: only the running gateway knows sessions')
  const table = createUpstreamTable(settings.upstreams)
  try {
    return explainRequest(method, target, settings, table, address).rows
  } finally {
    table.close()
  }
}

function addressIn({ values }: Written): string | null {
  const address = values.address === undefined ? null : String(values.address)
  if (address !== null && !isAddress(address)) throw new UsageError('--address takes an address: --address 10.0.0.7')
  return address
}
