import { inflateSync } from 'node:zlib'
import t from 'tap'
import { drawCaptcha } from '../../src/login/captcha-image.ts'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** The bytes of a data URL. */
function pngOf(url: string): Buffer {
  const [head, base64] = url.split(',') as [string, string]
  if (head !== 'data:image/png;base64') throw new Error(head)
  return Buffer.from(base64, 'base64')
}

/** The chunks of a PNG by name; those of one name joined. */
function chunksOf(png: Buffer): Map<string, Buffer> {
  const chunks = new Map<string, Buffer>()
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const name = png.toString('latin1', at + 4, at + 8)
    chunks.set(name, Buffer.concat([chunks.get(name) ?? Buffer.alloc(0), png.subarray(at + 8, at + 8 + length)]))
    at += 12 + length
  }
  return chunks
}

t.test('a picture is a PNG of 100 × 38 and of a few kilobytes', async t => {
  for (const text of ['ACDE', 'W3X4', 'MPRWXTYK']) {
    const png = pngOf(drawCaptcha(text))
    t.same(png.subarray(0, 8), SIGNATURE)
    const header = chunksOf(png).get('IHDR')!
    t.same([header.readUInt32BE(0), header.readUInt32BE(4)], [100, 38])
    t.ok(png.length < 8192)
  }
})

t.test('a picture says nothing but pixels: no text, no paths', async t => {
  const chunks = chunksOf(pngOf(drawCaptcha('ACDE')))
  t.same([...chunks.keys()].sort(), ['IDAT', 'IEND', 'IHDR'])
})

t.test('the text is on the picture: every one of its places has ink that an empty one has not', async t => {
  const inkOf = (text: string): number[] => {
    const pixels = inflateSync(chunksOf(pngOf(drawCaptcha(text))).get('IDAT')!)
    const bytesPerPixel = (pixels.length / 38 - 1) / 100
    // What is filtered against its neighbour is not zero where the picture changes: at edges of ink.
    const edges = [0, 0, 0, 0]
    for (let row = 0; row < 38; row++) {
      for (let x = 0; x < 100; x++) {
        const at = row * (100 * bytesPerPixel + 1) + 1 + x * bytesPerPixel
        if (pixels[at] !== 0 && pixels[at] !== 255) edges[Math.floor(x / 25)]! += 1
      }
    }
    return edges
  }
  const blank = inkOf('    ')
  const written = inkOf('MWQR')
  for (const [place, edges] of written.entries()) t.ok(edges > blank[place]! + 30, `place ${place}: ${edges}`)
})

t.test('no two pictures of one text are the same', async t => {
  t.not(drawCaptcha('ACDE'), drawCaptcha('ACDE'))
})
