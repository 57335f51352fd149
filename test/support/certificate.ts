import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Makes `certificate.pem`, which is its own authority, and `key.pem` in a folder; answers the path of the certificate. */
export function createCertificate(folder: string, names = 'DNS:localhost,IP:127.0.0.1'): string {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const about = ['-subj', '/CN=directory', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', certificate]
  const { status, stderr } = spawnSync('openssl', [...words, ...about], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl: ${stderr}`)
  return certificate
}
