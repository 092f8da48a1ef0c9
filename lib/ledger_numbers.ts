/** The largest number of XDR's type uint32: what the network, its ids and its JSON-RPC take for a ledger or an index at most. */
export const MAX_UINT32 = 0xffff_ffff;
