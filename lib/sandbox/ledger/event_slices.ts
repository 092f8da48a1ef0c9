/** The parts of a ContractEvent, cut out of its XDR. */
export interface EventSlices {
  type: "system" | "contract" | "diagnostic";
  /** 32 bytes. */
  contractId?: Uint8Array;
  /** ScVal each. */
  topicsXdr: Uint8Array[];
  valueXdr: Uint8Array;
}

const TYPES = ["system", "contract", "diagnostic"] as const;

/**
 * Cuts a ContractEvent into its parts without decoding the values, because every event of every ledger passes here.
 * @throws {RangeError} when the bytes are no ContractEvent
 */
export function sliceContractEvent(eventXdr: Uint8Array): EventSlices {
  const view = new DataView(eventXdr.buffer, eventXdr.byteOffset, eventXdr.byteLength);
  let at = 4; // The extension point.
  let contractId: Uint8Array | undefined;
  at += 4;
  if (view.getUint32(at - 4) === 1) {
    contractId = eventXdr.subarray(at, at + 32);
    at += 32;
  }
  const type = TYPES[view.getUint32(at)];
  if (!type) throw new RangeError("not a ContractEvent");
  const topicCount = view.getUint32(at + 8);
  at += 12;
  const topicsXdr = [];
  for (let i = 0; i < topicCount; i++) {
    const end = endOfScVal(view, at);
    topicsXdr.push(eventXdr.subarray(at, end));
    at = end;
  }
  const valueXdr = eventXdr.subarray(at, endOfScVal(view, at));
  return { type, ...(contractId && { contractId }), topicsXdr, valueXdr };
}

/** Bytes after the type, by ScValType, for types of a fixed size. */
const FIXED_SIZES: Record<number, number> = {
  0: 4, // bool
  1: 0, // void
  2: 8, // error
  3: 4, // u32
  4: 4, // i32
  5: 8, // u64
  6: 8, // i64
  7: 8, // timepoint
  8: 8, // duration
  9: 16, // u128
  10: 16, // i128
  11: 32, // u256
  12: 32, // i256
  20: 0, // ledger key of a contract instance
  21: 8, // ledger key of a nonce
};
const BYTES = 13, STRING = 14, SYMBOL = 15, VEC = 16, MAP = 17, ADDRESS = 18, INSTANCE = 19;

/** Bytes of an ScAddress with its type: account, contract, muxed account, claimable balance, liquidity pool. */
const ADDRESS_SIZES = [40, 36, 44, 40, 36];

function endOfScVal(view: DataView, start: number): number {
  const type = view.getUint32(start);
  const at = start + 4;
  const fixed = FIXED_SIZES[type];
  if (fixed !== undefined) return at + fixed;
  switch (type) {
    case BYTES:
    case STRING:
    case SYMBOL:
      return at + 4 + ((view.getUint32(at) + 3) & ~3);
    case VEC:
      return endOfOptionalList(view, at, 1);
    case MAP:
      return endOfOptionalList(view, at, 2);
    case ADDRESS: {
      const size = ADDRESS_SIZES[view.getUint32(at)];
      if (size === undefined) throw new RangeError("unknown ScAddress type");
      return at + size;
    }
    case INSTANCE: {
      const wasm = view.getUint32(at) === 0;
      return endOfOptionalList(view, at + (wasm ? 36 : 4), 2);
    }
    default:
      throw new RangeError(`unknown ScVal type ${type}`);
  }
}

function endOfOptionalList(view: DataView, start: number, valuesPerItem: number): number {
  if (view.getUint32(start) === 0) return start + 4;
  let left = view.getUint32(start + 4) * valuesPerItem;
  let at = start + 8;
  while (left-- > 0) at = endOfScVal(view, at);
  return at;
}
