import { Resvg } from '@resvg/resvg-js'
import { encodeQR } from 'qr'

/** Pixels of a module: cameras of telephones read it from a screen. */
const SCALE = 6
/** The margin that the standard asks for, in modules. */
const BORDER = 4

/** Nothing covers a part of a screen. The longest issuer and username fit only at this level (2953 bytes). */
const ERROR_CORRECTION = 'low'

/** A QR code of a text, as a data URL with a PNG. */
export function qrCodeOf(text: string): string {
  const svg = encodeQR(text, 'svg', { ecc: ERROR_CORRECTION, border: BORDER })
  const png = new Resvg(svg, { background: 'white', fitTo: { mode: 'zoom', value: SCALE } }).render().asPng()
  return `data:image/png;base64,${png.toString('base64')}`
}
