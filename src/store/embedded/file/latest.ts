import * as lmdb from 'lmdb'

interface NativeTransaction extends lmdb.Transaction {
  readonly address: number
  abort(): void
}

/** What the package exports or has, and its types leave out. */
interface Native {
  readonly Txn: new (env: object, flags: number) => NativeTransaction
  /** Gives the snapshot of a read transaction back; the next read with it takes a new one. */
  resetTxn(address: number): void
}
const { Txn, resetTxn } = (lmdb as unknown as { nativeAddon: Native }).nativeAddon

/** MDB_RDONLY. */
const READ_ONLY = 0x20000

/**
 * A read transaction for single entries that are read very often, each time in a new snapshot. The library's own one begins
 * a timer for each snapshot, which costs five times as much as the read. It holds no snapshot between two reads: a snapshot
 * that is kept keeps all pages that were freed since.
 */
export class LatestReads {
  readonly #options: { readonly transaction: NativeTransaction }

  /**
   * Begun before any table is opened: the library drops its own transaction when it opens one, and takes the transaction that
   * was begun last for its own.
   */
  constructor(root: lmdb.RootDatabase) {
    this.#options = { transaction: new Txn((root as unknown as { env: object }).env, READ_ONLY) }
    this.#giveBack()
  }

  /** An entry as the latest commit left it, by whichever process. */
  get(rows: lmdb.Database<string, Buffer>, key: Buffer): string | undefined {
    try {
      return rows.get(key, this.#options)
    } finally {
      this.#giveBack()
    }
  }

  close(): void {
    this.#options.transaction.abort()
  }

  #giveBack(): void {
    resetTxn(this.#options.transaction.address)
  }
}
