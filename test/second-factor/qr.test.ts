import { Resvg } from '@resvg/resvg-js'
import decodeQR from 'qr/decode.js'
import t from 'tap'
import { qrCodeOf } from '../../src/second-factor/qr.ts'
import { newSecret, uriOf } from '../../src/second-factor/totp.ts'

t.test('a camera reads the longest issuer and username from the picture, which is a PNG', async t => {
  const long = uriOf(newSecret(), '中'.repeat(64), '中'.repeat(128))
  for (const text of ['otpauth://totp/dualgate:ann?issuer=dualgate&secret=GEZDGNBV', long]) {
    const url = qrCodeOf(text)
    const png = Buffer.from(url.replace('data:image/png;base64,', ''), 'base64')
    t.equal(png.subarray(1, 4).toString(), 'PNG')
    const width = png.readUInt32BE(16)
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${width}"><image href="${url}" width="${width}" height="${width}"/></svg>`
    const { pixels, height } = new Resvg(svg).render()
    t.equal(decodeQR({ width, height, data: pixels }), text)
  }
})
