import { type Configuration, readConfiguration } from '../settings/load.ts'
import { editorSchema } from '../settings/schema/editor.ts'
import { describeTarget, targetsOf } from '../settings/targets.ts'
import { type Probe, probeAll } from './check-connect.ts'
import { CONFIG_HELP, CONFIG_OPTION, type Command, configOf } from './command.ts'
import { warningsOfRoles } from './roles.ts'
import { say, UsageError } from './terminal.ts'

export const check: Command = {
  words: '',
  summary: 'check the configuration and report every fault',
  help: `Reads the configuration as a start would, with the environment and .env, and starts and changes nothing.
Prints "ok" and a summary, or every fault with its place and what to do about it; then the exit code is 1.

${CONFIG_HELP}
  --connect           also ask the store, the accounts, each OpenID provider and each upstream, for a few seconds at most, and
                      report what each answers; the exit code is 1 if one of them cannot be used. Nothing in them is changed
  --print-schema      print the JSON Schema of the configuration file instead`,
  options: { ...CONFIG_OPTION, connect: { type: 'boolean' }, 'print-schema': { type: 'boolean' } },
  async run(written, { output, environment, cwd }) {
    if (written.words.length > 0) throw new UsageError(`check takes no arguments, but got ${written.words.join(' ')}`)
    if (written.values['print-schema'] === true) {
      say(output, JSON.stringify(editorSchema(), null, 2))
      return 0
    }
    const configuration = readConfiguration(configOf(written), environment, cwd)
    const roles = await warningsOfRoles(configuration)
    say(output, 'ok', ...summaryOf(configuration), ...roles.map(text => row('warning', text)))
    if (written.values.connect !== true) return 0
    const probes = await probeAll(configuration.settings)
    say(output, ...probes.map(lineOf))
    return probes.every(({ isReached }) => isReached) ? 0 : 1
  },
}

const row = (name: string, value: string): string => `  ${name.padEnd(24)}${value}`

const lineOf = ({ what, isReached, text }: Probe): string =>
  row(isReached ? 'reached' : 'NOT REACHED', `${what}: ${text}`)

type ReadSettings = Configuration['settings']

/** Where each kind of store keeps what it keeps. */
const PLACES: Readonly<Record<ReadSettings['store']['kind'], (settings: ReadSettings) => string>> = {
  embedded: ({ data }) => `in ${data}`,
  redis: ({ store }) => `prefix ${store.prefix}`,
}

function summaryOf({ settings, secrets, warnings }: Configuration): string[] {
  const { profile, listen, internal, store, accounts, upstreams } = settings
  const rows: [string, string][] = [
    ['profile', String(profile)],
    ['public', `${listen.host}:${listen.port}`],
    ['internal', internal.socket ?? `${internal.host}:${internal.port}`],
    ['store', `${store.kind}, ${PLACES[store.kind](settings)}`],
    ['accounts', accounts.kind === 'file' ? `file ${accounts.path}` : accounts.kind],
    ...secrets.map(({ key, from, isSet }): [string, string] => [key, isSet ? `from ${from}` : `kept in ${from}`]),
    ...upstreams.map((upstream): [string, string] => [
      'upstream',
      `${upstream.name}: ${upstream.match} to ${targetsOf(upstream).map(describeTarget).join(', ')}`,
    ]),
  ]
  if (upstreams.length === 0) rows.push(['upstream', 'none: requests reach the gateway’s own routes only'])
  for (const { place, message } of warnings) rows.push(['warning', `${place} ${message}`])
  return rows.map(([name, value]) => row(name, value))
}
