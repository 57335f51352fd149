/** An answer that some parts have at once and others fetch; the request's path awaits only promises. */
export type MaybePromise<T> = T | Promise<T>
