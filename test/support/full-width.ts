/** A text in the full-width characters that Chinese input methods may write. */
export const inFullWidth = (text: string): string =>
  text.replace(/[!-~]/g, character => String.fromCodePoint(character.codePointAt(0)! + 0xfee0))
