import { MessageChannel, type MessagePort } from 'node:worker_threads'

/** Bytes. Shorter chunks cost too little to matter. */
const LEAST = 16_384

/** What is transferred into a closed port arrives nowhere and is freed at once. `ArrayBuffer.transfer` is not in Node 20. */
let closedPort: MessagePort | null = null

/**
 * What the write of a chunk of a body calls when the bytes are written: it frees their memory. The chunk must be of no further use
 * to anybody then. `undefined` for a chunk that has not the whole of its memory.
 *
 * The collector of garbage would free it late: V8 marks and sweeps its heap for it, and meanwhile each new chunk needs new pages of
 * the system. A body of 100 MiB costs 100 to 170 ms of processor time instead of 240 to 360 (Node 26), in either direction; on
 * Node 20 an upload costs two thirds, and a download nine tenths.
 */
export function freeWhenWritten(chunk: Buffer): ((error?: Error | null) => void) | undefined {
  const memory = chunk.buffer as ArrayBuffer
  if (chunk.length < LEAST || chunk.length !== memory.byteLength) return undefined
  return error => {
    if (!error) free(memory)
  }
}

function free(memory: ArrayBuffer): void {
  closedPort ??= createClosedPort()
  closedPort.postMessage(null, [memory])
}

function createClosedPort(): MessagePort {
  const { port1, port2 } = new MessageChannel()
  port1.close()
  port2.close()
  return port1
}
