/** The highest ledger: sequences are signed 32-bit in ids and cursors (SEP-35). */
export const MAX_LEDGER = 0x7fff_ffff;

/** The largest uint32 of XDR, the type of a ledger's sequence in ids, indexes and JSON-RPC. */
export const MAX_UINT32 = 0xffff_ffff;

/** A ledger and its hash, by which a network reset is noticed. */
export interface Checkpoint {
  ledger: number;
  /** Of its header, hex; null when no node has `getLedgers`. */
  hash: string | null;
  /** Unix seconds; 0 when no node reports it. */
  closeTime: number;
}
