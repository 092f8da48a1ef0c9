/**
 * Where an event stands in the whole history, as text that sorts: a 4-digit epoch, `/`, the RPC's event id. An epoch is
 * one life of the network: a reset numbers its ledgers anew. The RPC's id is a 19-digit TOID (SEP-35: ledger in the
 * upper 32 bits, then 20 bits of transaction and 12 of operation), a hyphen and a 10-digit index.
 */

/** Ledger sequences are signed 32-bit in a TOID (SEP-35). */
export const MAX_LEDGER = 0x7fff_ffff;

const RPC_ID = /^(\d{19})-(\d{10})$/;
const MAX_INDEX = 0xffff_ffff;
const LOWER_BITS = 0xffff_ffffn;

export interface Position {
  epoch: number;
  /** SEP-35. */
  toid: bigint;
  index: number;
}

/** The position of the event with this RPC id; sorts as text over all epochs. */
export function positionOf(epoch: number, rpcId: string): string {
  return `${String(epoch).padStart(4, "0")}/${rpcId}`;
}

/** The last possible position of a ledger: everything in it sorts before or is equal, all that follows sorts after. */
export function endOfLedger(epoch: number, ledger: number): string {
  return formatPosition({ epoch, toid: (BigInt(ledger) << 32n) | LOWER_BITS, index: MAX_INDEX });
}

export function formatPosition({ epoch, toid, index }: Position): string {
  return positionOf(epoch, `${String(toid).padStart(19, "0")}-${String(index).padStart(10, "0")}`);
}

/** Reads a position of this module's making. Throws a plain Error for anything else: such text never comes from outside. */
export function parsePosition(position: string): Position {
  const [epoch, rpcId] = [position.slice(0, 4), position.slice(5)];
  const parts = RPC_ID.exec(rpcId);
  if (!/^\d{4}$/.test(epoch) || position[4] !== "/" || parts === null) {
    throw new Error(`not a position: ${JSON.stringify(position)}`);
  }
  return { epoch: Number(epoch), toid: BigInt(parts[1]!), index: Number(parts[2]) };
}

/** The ledger of a position. */
export function ledgerOfPosition(position: string): number {
  return Number(parsePosition(position).toid >> 32n);
}

/** The ledger an RPC's event id or cursor lies in, undefined when the text is neither. */
export function ledgerOfRpcId(rpcId: string): number | undefined {
  const parts = RPC_ID.exec(rpcId);
  if (parts === null || Number(parts[2]) > MAX_INDEX) return undefined;
  const ledger = BigInt(parts[1]!) >> 32n;
  return ledger <= BigInt(MAX_LEDGER) ? Number(ledger) : undefined;
}

/**
 * The id consumers deduplicate on: the RPC's own in the first epoch, later ones carry the epoch in front, because a
 * reset network gives out the same ids again.
 */
export function eventId(epoch: number, rpcId: string): string {
  return epoch === 0 ? rpcId : `${epoch}-${rpcId}`;
}

/** The position of the event with this id, undefined when the text is no event id. */
export function positionOfEventId(id: string): string | undefined {
  const parts = /^(?:([1-9]\d{0,3})-)?(\d{19}-\d{10})$/.exec(id);
  if (parts === null || ledgerOfRpcId(parts[2]!) === undefined) return undefined;
  return positionOf(Number(parts[1] ?? 0), parts[2]!);
}
