/* What stands in the file of a process that has an embedded file open: its length alone counts. */

export const RESTING = '.'
export const CHANGING = '..'
