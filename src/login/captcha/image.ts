import { randomInt } from 'node:crypto'
import { Resvg } from '@resvg/resvg-js'
import { faceOf, linesAcross, moved, type Outline, type Point, pointsOf } from './outlines.ts'

const WIDTH = 100
const HEIGHT = 38
/** Least distance of a character from each edge, in pixels: more than its outline adds, also in a picture shown smaller. */
const MARGIN = 2

/** The height of a character before rotation, in pixels: at least two thirds of the picture. */
const GLYPH_HEIGHT = [25, 28] as const
/** The largest rotation, in degrees. */
const TURN = 18
/** Amplitude and length of the waves that bend the text, in pixels. */
const BEND = [1, 2] as const
const WAVE = [40, 90] as const
/** The part of its width by which a character overlaps the next. */
const OVERLAP = 0.09
/** The outline added to a character, so that thin strokes are as dark as thick ones. */
const BOLDNESS = 0.3

/** Thin lines through the text in the background colour; people do not notice them. */
const CUTS = 2
const CUT_WIDTH = 0.6

const PAPER = '#ffffff'

type Move = (point: Point) => Point

/** A random number between two others. */
type Between = (least: number, most: number) => number

const unpredictable: Between = (least, most) => least + (randomInt(2 ** 32) / 2 ** 32) * (most - least)

/**
 * The picture of a captcha's text: a PNG of 100 × 38 as a data URL, drawn in the calling thread. The picture is a
 * raster, because the path commands of an SVG reveal its text.
 */
export function drawCaptcha(text: string): string {
  const png = new Resvg(captchaSvg(text), { background: PAPER, font: { loadSystemFonts: false } }).render().asPng()
  return `data:image/png;base64,${png.toString('base64')}`
}

/**
 * For people: large solid characters with high contrast, and no lines in their colour through them. Against programs:
 * in one stripe the two colours are exchanged; characters are rotated and bent, overlap and are cut into pieces. So
 * neither brightness nor connected areas reveal which pixels belong together.
 */
export function captchaSvg(text: string, between: Between = unpredictable): string {
  const ink = `hsl(${Math.floor(between(0, 360))}, 60%, ${Math.floor(between(12, 21))}%)`
  const glyphs = placeGlyphs([...text], between).join('')
  const cuts = linesAcross(WIDTH, HEIGHT, CUTS).join('')
  const drawn = (dark: string, light: string): string =>
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="${light}"/>` +
    `<path class="glyphs" fill="${dark}" stroke="${dark}" stroke-width="${2 * BOLDNESS}" stroke-linejoin="round" d="${glyphs}"/>` +
    `<path class="cuts" fill="none" stroke="${light}" stroke-width="${CUT_WIDTH}" d="${cuts}"/>`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}">`,
    `<clipPath id="stripe"><path d="${stripe(between)}"/></clipPath>`,
    drawn(ink, PAPER),
    `<g clip-path="url(#stripe)">${drawn(PAPER, ink)}</g>`,
    '</svg>',
  ].join('')
}

/** A slanting stripe about half as wide as the picture. */
function stripe(between: Between): Outline {
  const left = between(10, WIDTH / 2)
  const right = left + between(WIDTH * 0.35, WIDTH * 0.5)
  const slant = (): string => between(-12, 12).toFixed(1)
  return `M${left} 0l${slant()} ${HEIGHT}L${right} ${HEIGHT}l${slant()} -${HEIGHT}Z`
}

/** The outlines of the characters at their positions, from left to right. */
function placeGlyphs(characters: readonly string[], between: Between): Outline[] {
  const bend = createBend(between)
  const glyphs = characters.map(character => turned(faceOf(character), between))
  const widths = glyphs.map(glyph => rangeOf(glyph, 0).size)
  const needed = widths.reduce((sum, width) => sum + width, 0) * (1 - OVERLAP)
  // Text narrower than the picture is spread with uneven gaps.
  const gap = (Math.max(0, WIDTH - 2 * MARGIN - needed) * 0.6) / characters.length
  let left = 0
  const bent = glyphs.map((glyph, index) => {
    const from = left
    left += widths[index]! * (1 - OVERLAP) + between(0, gap)
    return moved(glyph, ([x, y]) => bend([from + x, y]))
  })
  return intoPicture(bent, 0, between).flatMap(glyph => intoPicture([glyph], 1, between))
}

/** The outline of a character with a random height and angle, with its left end at 0. */
function turned(outline: Outline, between: Between): Outline {
  const [x, y] = [rangeOf(outline, 0), rangeOf(outline, 1)]
  const scale = between(...GLYPH_HEIGHT) / (y.size || 1)
  const angle = (between(-TURN, TURN) * Math.PI) / 180
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)]
  const upright = moved(outline, point => [(point[0] - x.middle) * scale, (point[1] - y.middle) * scale])
  const rotated = moved(upright, ([right, down]) => [right * cos - down * sin, right * sin + down * cos])
  const { least } = rangeOf(rotated, 0)
  return moved(rotated, ([right, down]) => [right - least, down])
}

/**
 * Moves outlines together to a random place between two edges: 0 for left and right, 1 for the upper and the lower. What is larger
 * than the picture, such as a wide character that is rotated far, is narrowed or flattened, and not cut.
 */
function intoPicture(outlines: readonly Outline[], axis: 0 | 1, between: Between): Outline[] {
  const { least, size } = rangeOf(outlines.join(''), axis)
  const room = (axis === 0 ? WIDTH : HEIGHT) - 2 * MARGIN
  const scale = Math.min(1, room / (size || 1))
  const start = between(MARGIN, MARGIN + room - size * scale)
  const fit = (value: number): number => start + (value - least) * scale
  return outlines.map(outline => moved(outline, ([x, y]) => (axis === 0 ? [fit(x), y] : [x, fit(y)])))
}

/** Two waves, along the text and across it. */
function createBend(between: Between): Move {
  const wave = (): ((along: number) => number) => {
    const [size, length, phase] = [between(...BEND), between(...WAVE), between(0, 2 * Math.PI)]
    return along => size * Math.sin((2 * Math.PI * along) / length + phase)
  }
  const [right, down] = [wave(), wave()]
  return ([x, y]) => [x + right(y), y + down(x)]
}

function rangeOf(outline: Outline, axis: 0 | 1): { least: number; size: number; middle: number } {
  const values = pointsOf(outline).map(point => point[axis])
  const [least, most] = values.length === 0 ? [0, 0] : [Math.min(...values), Math.max(...values)]
  return { least, size: most - least, middle: (least + most) / 2 }
}
