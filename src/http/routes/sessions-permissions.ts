/** The permissions of the session administration; both sides' are administered by the B side. */
export const SEE = 'sys:session:page'
export const END = 'sys:session:exit'
/** Bar login ids, and let them in again. */
export const PREVENT = 'sys:session:disable'
/** Who holds it is shown tokens; everybody else gets handles. */
export const SEE_TOKENS = 'sys:session:token'

export const MAY = [SEE, END, PREVENT, SEE_TOKENS] as const
