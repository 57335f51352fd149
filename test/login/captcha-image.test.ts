import { Resvg } from '@resvg/resvg-js'
import t from 'tap'
import { CHARACTERS } from '../../src/login/captcha/captcha.ts'
import { captchaSvg, drawCaptcha } from '../../src/login/captcha/image.ts'
import { faceOf, moved, pointsOf } from '../../src/login/captcha/outlines.ts'

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

t.test('a picture contains only pixels: no text, no paths', async t => {
  const chunks = chunksOf(pngOf(drawCaptcha('ACDE')))
  t.same([...chunks.keys()].sort(), ['IDAT', 'IEND', 'IHDR'])
})

/** How large the pages in use show a picture: as it is, and 28 pixels high. */
const SIZES = [38, 28]

interface Raster {
  width: number
  /** The luminance of each pixel, 0 to 1 (WCAG 2.2, relative luminance). */
  light: number[]
}

const CHANNEL = Array.from({ length: 256 }, (_, value) =>
  value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
)

function rasterOf(svg: string, height = 38): Raster {
  const image = new Resvg(svg, {
    background: '#ffffff',
    fitTo: { mode: 'height', value: height },
    font: { loadSystemFonts: false },
  }).render()
  const { width, pixels } = image
  const light = Array.from({ length: width * height }, (_, i) => {
    const at = 4 * i
    return 0.2126 * CHANNEL[pixels[at]!]! + 0.7152 * CHANNEL[pixels[at + 1]!]! + 0.0722 * CHANNEL[pixels[at + 2]!]!
  })
  return { width, light }
}

/** WCAG 2.2, contrast ratio. */
const contrast = (a: number, b: number): number => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)

/** A picture with some of its parts left out. */
function without(svg: string, ...parts: string[]): string {
  return parts.reduce((rest, part) => {
    const left = rest.replaceAll(new RegExp(`<path class="${part}"[^>]*/>`, 'g'), '')
    if (left === rest) throw new Error(`the picture has no ${part}`)
    return left
  }, svg)
}

/** Whether each pixel has a contrast of 4.5 and more with the paper that would be there without characters. */
function readable(svg: string, height?: number): { width: number; seen: boolean[] } {
  const { width, light } = rasterOf(svg, height)
  const paper = rasterOf(without(svg, 'glyphs', 'cuts'), height).light
  return { width, seen: light.map((value, at) => contrast(value, paper[at]!) >= 4.5) }
}

const share = (part: readonly boolean[], of: readonly boolean[]): number =>
  part.filter((seen, at) => seen && of[at]).length / of.filter(Boolean).length

const TEXTS = Array.from({ length: 12 }, (_, i) =>
  Array.from({ length: 4 }, (_, place) => CHARACTERS[(i * 7 + place * 5) % CHARACTERS.length]).join(''),
)

t.test('every character is whole, and at least half of the picture high', async t => {
  for (const character of CHARACTERS) {
    const { width, seen } = readable(
      without(captchaSvg(character), 'cuts').replace('</svg>', '<path class="cuts"/></svg>'),
    )
    const rows = seen.flatMap((isSeen, at) => (isSeen ? [Math.floor(at / width)] : []))
    const [top, bottom] = [Math.min(...rows), Math.max(...rows)]
    t.ok(bottom - top + 1 >= 0.5 * 38, `${character}: ${bottom - top + 1} of 38`)
    t.ok(top > 0 && bottom < 37, `${character} is whole`)
  }
})

type Between = NonNullable<Parameters<typeof captchaSvg>[1]>

/** Numbers that look random, and are the same in every run. */
function sequence(seed: number): Between {
  let state = seed
  return (least, most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return least + (state / 2 ** 32) * (most - least)
  }
}

t.test('no character is cut at an edge, however far it is rotated and however wide the text is', async t => {
  const seeded = Array.from({ length: 40 }, (_, seed) => sequence(seed))
  const ways: Between[] = [...seeded, least => least, (_, most) => most]
  for (const text of [...CHARACTERS, ...TEXTS, 'WWWW', 'MWMH', 'UQWQ', '7', 'MWMWMWMW']) {
    for (const between of ways) {
      const [, outline] = / class="glyphs" [^>]* d="([^"]*)"/.exec(captchaSvg(text, between))!
      // A curve does not leave the box around its control points.
      const points = pointsOf(outline!)
      for (const [axis, end] of [100, 38].entries()) {
        const values = points.map(point => point[axis]!)
        const margin = Math.min(...values, end - Math.max(...values))
        if (margin < 1.98) t.fail(`${text}: ${margin.toFixed(2)} pixels from the edge`)
      }
    }
  }
  t.pass()
})

for (const height of SIZES) {
  t.test(
    `at ${height} pixels, four tenths of what characters cover, edges included, have a contrast of 4.5 and more with their paper`,
    async t => {
      for (const text of TEXTS) {
        const svg = captchaSvg(text)
        const paper = rasterOf(without(svg, 'glyphs', 'cuts'), height).light
        const glyphs = rasterOf(without(svg, 'cuts'), height).light
        const covered = glyphs.map((light, at) => contrast(light, paper[at]!) > 1.1)
        const { seen } = readable(svg, height)
        t.ok(share(seen, covered) >= 0.4, `${text}: ${share(seen, covered).toFixed(2)}, with all edges`)
        t.ok(Math.max(...glyphs.map((light, at) => contrast(light, paper[at]!))) >= 7, `${text}: the ink itself`)
      }
    },
  )
}

/** Where a line meets the edge of the stripe, one of 1800 pictures has a pixel that is darker with it. Two lines of ink make 7 to 28. */
const AT_EDGES = 3

t.test('the only lines through characters are of the paper, and leave most of them', async t => {
  const shares: number[] = []
  for (const text of TEXTS) {
    const svg = captchaSvg(text)
    const whole = readable(without(svg, 'cuts').replace('</svg>', '<path class="cuts"/></svg>')).seen
    const left = readable(svg).seen
    shares.push(share(left, whole))
    t.ok(shares.at(-1)! >= 0.8, `${text}: ${shares.at(-1)!.toFixed(2)}`)
    const beside = left.filter((isSeen, at) => isSeen && !whole[at]).length
    t.ok(beside <= AT_EDGES, `nothing beside characters is as dark: ${beside}`)
  }
  t.ok(Math.max(...shares) <= 1 && Math.min(...shares) < 0.98, 'and they go through them')
})

t.test('in a stripe the colours are exchanged, so no single brightness is the text', async t => {
  for (const text of TEXTS) {
    const paper = rasterOf(without(captchaSvg(text), 'glyphs', 'cuts')).light
    const dark = paper.filter(light => light < 0.2).length / paper.length
    t.ok(dark > 0.2 && dark < 0.7, `${text}: ${dark.toFixed(2)}`)
  }
})

/** A character's face in a square of 24 × 24. */
function faceIn(character: string): boolean[] {
  const points = pointsOf(faceOf(character))
  const [left, top] = [0, 1].map(axis => Math.min(...points.map(point => point[axis]!))) as [number, number]
  const [right, bottom] = [0, 1].map(axis => Math.max(...points.map(point => point[axis]!))) as [number, number]
  const scale = 24 / (bottom - top)
  const across = Math.min(scale, 24 / (right - left))
  const path = moved(faceOf(character), ([x, y]) => [12 + (x - (left + right) / 2) * across, (y - top) * scale])
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><path d="${path}"/></svg>`
  return rasterOf(svg, 24).light.map(light => light < 0.2)
}

t.test('no two characters look alike: at least a third of their common area belongs to one of them only', async t => {
  const faces = [...CHARACTERS].map(character => ({ character, face: faceIn(character) }))
  for (const [i, a] of faces.entries()) {
    for (const b of faces.slice(i + 1)) {
      const both = a.face.filter((dark, at) => dark && b.face[at]).length
      const either = a.face.filter((dark, at) => dark || b.face[at]).length
      t.ok(both / either <= 2 / 3, `${a.character} and ${b.character}: ${(both / either).toFixed(2)}`)
    }
  }
})

t.test('the face of a character is filled, and its counters are open', async t => {
  for (const character of 'DPQR469') {
    const row = character === '6' ? 17 : character === '4' ? 12 : 7
    const changes = faceIn(character).slice(row * 24, (row + 1) * 24)
    const strokes = changes.filter((dark, x) => dark && !changes[x - 1]).length
    t.equal(strokes, 2, `${character} has two strokes side by side`)
  }
})

t.test('no two pictures of one text are the same', async t => {
  t.not(drawCaptcha('ACDE'), drawCaptcha('ACDE'))
})
