import svgCaptcha from 'svg-captcha'

/**
 * The module can draw a given text, but its types only declare the functions that also choose one, with `Math.random`.
 */
const drawSvg = svgCaptcha as unknown as (text: string, options: Partial<typeof svgCaptcha.options>) => string

/**
 * Side of the square in which a character is drawn: no coordinate is negative, so each pair is two numbers separated by
 * a space.
 */
const BOX = 100

/** The data of an SVG path: absolute commands, each pair of coordinates with a space between. */
export type Outline = string
export type Point = readonly [x: number, y: number]

/**
 * The face of a character. The font draws each with a shadow and an open face: a silhouette, the face as a hole in it,
 * and the counters of the face as shapes in the hole, with shadows of their own in them. At the height of a captcha the
 * shadow cannot be distinguished from the lines, so only the face with its counters is kept, to be filled.
 */
export function faceOf(character: string): Outline {
  const outlines = outlinesIn(drawSvg(character, { width: BOX, height: BOX, fontSize: BOX, noise: 0 }), 'fill="#')
  const parts = outlines.flatMap(outline => outline.split(/(?=M)/)).map(part => ({ part, area: areaOf(part) }))
  const areas = parts.map(({ area }) => area)
  const [silhouette, face] = [Math.min(...areas), Math.max(...areas)]
  // The direction of a hole is opposite to that of the surrounding outline.
  return parts
    .filter(({ area }) => area === face || (area < 0 && area !== silhouette))
    .map(({ part }) => part)
    .join('')
}

/** Curves from one side of the picture to the other. */
export const linesAcross = (width: number, height: number, count: number): Outline[] =>
  outlinesIn(drawSvg(' ', { width, height, noise: count }), 'fill="none"')

/** An outline with every point moved. */
export const moved = (outline: Outline, move: (point: Point) => Point): Outline =>
  outline.replace(PAIR, (_, x: string, y: string) =>
    move([Number(x), Number(y)])
      .map(coordinate => coordinate.toFixed(2))
      .join(' '),
  )

/** The points of an outline, including control points of curves. */
export const pointsOf = (outline: Outline): Point[] =>
  [...outline.matchAll(PAIR)].map(([, x, y]) => [Number(x), Number(y)])

const PAIR = /(-?[\d.]+) (-?[\d.]+)/g

/** The data of the paths with this attribute, without empty paths. */
const outlinesIn = (svg: string, attribute: string): Outline[] =>
  [...svg.matchAll(/<path [^>]*>/g)]
    .filter(([path]) => path.includes(attribute))
    .map(([path]) => / d="([^"]*)"/.exec(path)?.[1] ?? '')
    .filter(outline => outline !== '')
    // The module writes this separator.
    .map(outline => outline.replaceAll(',', ' '))

/** Twice the area of an outline, positive for clockwise ones. */
function areaOf(outline: Outline): number {
  const points = pointsOf(outline)
  return points.reduce((sum, [x, y], index) => {
    const [nextX, nextY] = points[(index + 1) % points.length]!
    return sum + x * nextY - nextX * y
  }, 0)
}
