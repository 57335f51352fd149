/* How long a gateway that closes goes on after its last request, in milliseconds. The supervisor reads it without the gateway. */

/** Waiting events are still sent. */
export const WEBHOOK_LIMIT = 2000
/** Entries of the journal are still stored. */
export const JOURNAL_LIMIT = 5000
/** Both, which are done at the same time. */
export const RECORDS_LIMIT = Math.max(WEBHOOK_LIMIT, JOURNAL_LIMIT)
