/** The newest ledger there can be: sequences are signed 32-bit in ids and cursors (SEP-35). */
export const MAX_LEDGER = 0x7fff_ffff;

/** The largest number of XDR's type uint32, which ids, indexes and JSON-RPC write a ledger's sequence as. */
export const MAX_UINT32 = 0xffff_ffff;

/** A ledger by which a reset of the network is noticed. */
export interface Checkpoint {
  ledger: number;
  /** Of its header, hex; null where no node has `getLedgers`. */
  hash: string | null;
  /** Unix seconds; 0 where no node says it. */
  closeTime: number;
}
