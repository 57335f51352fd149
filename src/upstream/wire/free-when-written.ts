/** Bytes. Shorter chunks cost too little to matter. */
const LEAST = 16_384

/** Node 20 has no `transfer`. */
interface Memory {
  readonly byteLength: number
  transfer?(length: number): unknown
}

/**
 * What the write of a chunk of a body calls when the bytes are written: it frees their memory. The chunk must be of no further use
 * to anybody then. `undefined` where that is not possible: on Node 20, and for a chunk that has not the whole of its memory.
 *
 * The collector of garbage would free it late: V8 marks and sweeps its heap for it, and meanwhile each new chunk needs new pages of
 * the system. A body of 100 MiB costs 100 to 170 ms of processor time instead of 240 to 360 (Node 26), in either direction.
 */
export function freeWhenWritten(chunk: Buffer): ((error?: Error | null) => void) | undefined {
  const memory: Memory = chunk.buffer
  if (chunk.length < LEAST || chunk.length !== memory.byteLength || memory.transfer === undefined) return undefined
  return error => {
    if (!error) memory.transfer?.(0)
  }
}
