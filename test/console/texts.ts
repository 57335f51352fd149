import { ROOT } from '../support/root.ts'

export type Language = 'en' | 'zh'

/** The texts of the page, by their names. */
export const { TEXTS }: { TEXTS: Record<Language, Record<string, string>> } = await import(
  `${ROOT}/src/console/language/texts.js`
)

/** A text of the page, with its values. */
export const textOf = (language: Language, name: string, values: Record<string, string | number> = {}): string =>
  TEXTS[language][name]!.replace(/\{(\w+)\}/g, (_, value) => String(values[value]))
