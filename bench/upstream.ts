import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../test/support/ports.ts'
import { OTHER_CORE, programNamed } from './machine.ts'
import { type Scene, start } from './process.ts'
import { nginxCommand, nginxConfig } from './rivals/nginx.ts'
import { ANSWER } from './upstream-answer.ts'

/** Size of a body in KiB as it stands at the end of a path; what is not named so is answered with `ANSWER`. */
export const SIZES = [10, 1000]

/** The path of a body of so many KiB below a base. */
export const pathOf = (base: string, kib: number): string => (kib < 1 ? `${base}/orders` : `${base}/size/${kib}`)

/**
 * Starts the upstream of all gateways: nginx if it is installed, because it costs the least. It answers before it has read
 * a body, so for requests with bodies a Node process is used.
 */
export async function startUpstream(scene: Scene, bodies: boolean): Promise<string> {
  const port = await freePort()
  const program = bodies ? null : programNamed('nginx')
  if (program === null) {
    const command = [process.execPath, '--import', 'tsx', join(import.meta.dirname, 'upstream-node.ts'), String(port)]
    const { folder } = scene
    scene.keep(await start('upstream-node', { core: OTHER_CORE, command, folder, cwd: import.meta.dirname, port }))
    return `http://127.0.0.1:${port}`
  }
  for (const kib of SIZES) writeFileSync(join(scene.folder, `body-${kib}`), 'x'.repeat(kib * 1024))
  const sized = SIZES.map(kib => `location ~ /size/${kib}$ { rewrite ^ /body-${kib} break; root ${scene.folder}; }`)
  const config = nginxConfig(scene.folder, 'upstream', {
    server: `listen 127.0.0.1:${port} backlog=8192;
      ${sized.join('\n      ')}
      location / { default_type application/json; return 200 '${ANSWER}'; }`,
  })
  const command = nginxCommand(program, config)
  scene.keep(await start('upstream', { core: OTHER_CORE, command, folder: scene.folder, port }))
  return `http://127.0.0.1:${port}`
}
