import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AskingProxy } from '../stage.ts'

const typed = (name: string, type: string, rest: object): object => ({
  name,
  typed_config: { '@type': `type.googleapis.com/envoy.extensions.filters.${type}`, ...rest },
})

const cluster = (name: string, url: string): object => {
  const { hostname, port } = new URL(url)
  const address = { socket_address: { address: hostname, port_value: Number(port) } }
  const endpoints = [{ lb_endpoints: [{ endpoint: { address } }] }]
  return { name, type: 'STATIC', connect_timeout: '5s', load_assignment: { cluster_name: name, endpoints } }
}

/** Writes the configuration of an Envoy that asks a service for each request by its filter ext_authz; answers its command. */
export function envoyCommand(program: string, { folder, port, upstream, service }: AskingProxy): string[] {
  const prefix = join(folder, 'envoy')
  mkdirSync(prefix, { recursive: true })
  const extAuthz = typed('envoy.filters.http.ext_authz', 'http.ext_authz.v3.ExtAuthz', {
    transport_api_version: 'V3',
    failure_mode_allow: false,
    http_service: {
      server_uri: { uri: service, cluster: 'service', timeout: '3s' },
      authorization_response: { allowed_upstream_headers: { patterns: [{ exact: 'x-login-id' }] } },
    },
  })
  const router = typed('envoy.filters.http.router', 'http.router.v3.Router', {})
  const routes = [{ match: { prefix: '/' }, route: { cluster: 'backend' } }]
  const manager = typed(
    'envoy.filters.network.http_connection_manager',
    'network.http_connection_manager.v3.HttpConnectionManager',
    {
      stat_prefix: 'public',
      use_remote_address: true,
      http_filters: [extAuthz, router],
      route_config: {
        request_headers_to_remove: ['authorization'],
        virtual_hosts: [{ name: 'all', domains: ['*'], routes }],
      },
    },
  )
  const address = { socket_address: { address: '127.0.0.1', port_value: port } }
  const listeners = [{ name: 'public', address, filter_chains: [{ filters: [manager] }] }]
  const clusters = [cluster('backend', upstream), cluster('service', service)]
  const file = join(prefix, 'envoy.json')
  writeFileSync(file, JSON.stringify({ static_resources: { listeners, clusters } }, null, 2))
  return [program, '-c', file, '--concurrency', '1', '--disable-hot-restart', '--log-level', 'off']
}
