import { Resvg } from '@resvg/resvg-js'
import svgCaptcha from 'svg-captcha'

const WIDTH = 100
const HEIGHT = 38

/** The module itself draws a given text; its types only know the functions that also choose one, with `Math.random`. */
const drawSvg = svgCaptcha as unknown as (text: string, options: typeof svgCaptcha.options) => string

/**
 * The picture of a captcha's text: a PNG of 100 × 38 as a data URL, drawn in the calling thread. What is sent is a raster,
 * because the path commands of the SVG give its text away.
 */
export function drawCaptcha(text: string): string {
  const svg = drawSvg(text, {
    width: WIDTH,
    height: HEIGHT,
    // Glyphs share the width: at four they may be as high as the picture, at eight they would cover each other.
    fontSize: Math.min(46, 200 / text.length),
    noise: 3,
  })
  const png = new Resvg(svg, { background: '#ffffff', font: { loadSystemFonts: false } }).render().asPng()
  return `data:image/png;base64,${png.toString('base64')}`
}
