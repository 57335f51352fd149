/** The languages of texts for people. */
export type Locale = 'en' | 'zh-CN'

const MINUTE = 60
const HOUR = 3600
const DAY = 86_400

interface Words {
  expired: string
  left(parts: string): string
  units: {
    second: (n: number) => string
    minute: (n: number) => string
    hour: (n: number) => string
    day: (n: number) => string
  }
}

const plural = (unit: string) => (n: number) => `${n} ${unit}${n === 1 ? '' : 's'}`

const WORDS: Readonly<Record<Locale, Words>> = {
  en: {
    expired: 'Expired',
    left: parts => `${parts} left`,
    units: { second: plural('second'), minute: plural('minute'), hour: plural('hour'), day: plural('day') },
  },
  'zh-CN': {
    expired: '已过期',
    left: parts => `剩余 ${parts}`,
    units: { second: n => `${n}秒`, minute: n => `${n}分钟`, hour: n => `${n}小时`, day: n => `${n}天` },
  },
}

/** The text of a remaining lifetime in seconds, in two units at most, as the clients in use show it. */
export function remainingText(seconds: number, locale: Locale): string {
  const { expired, left, units } = WORDS[locale]
  if (seconds < 0) return expired
  if (seconds < MINUTE) return left(units.second(seconds))
  if (seconds < HOUR) return left(units.minute(Math.floor(seconds / MINUTE)))
  const hours = Math.floor(seconds / HOUR)
  if (seconds < DAY) return left(`${units.hour(hours)} ${units.minute(Math.floor((seconds % HOUR) / MINUTE))}`)
  return left(`${units.day(Math.floor(seconds / DAY))} ${units.hour(hours % 24)}`)
}
