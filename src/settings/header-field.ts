/* The parts of a header, for patterns. */

/** A name: a token of RFC 9110 5.6.2. */
export const HEADER_NAME = "[A-Za-z0-9!#$%&'*+.^_`|~-]+"

/** The pattern of a value that every client and server sends as it is: ASCII, without spaces at its ends. */
export const HEADER_VALUE = '^[\\x21-\\x7e]([\\t\\x20-\\x7e]*[\\x21-\\x7e])?$'
