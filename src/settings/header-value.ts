/** The pattern of a value that every client and server sends in a header as it is: ASCII, without spaces at its ends. */
export const HEADER_VALUE = '^[\\x21-\\x7e]([\\t\\x20-\\x7e]*[\\x21-\\x7e])?$'
