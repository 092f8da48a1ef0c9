import { nativeToScVal, xdr } from "@stellar/stellar-sdk";
import { createXdrWriter } from "./bytes.ts";

const SCV_I128 = 10, SCV_STRING = 14, SCV_SYMBOL = 15, SCV_ADDRESS = 18, SCV_MAP = 17;
const CONTRACT_EVENT = 1;

const utf8 = new TextEncoder();
const symbol = (text: string) => createXdrWriter().uint32(SCV_SYMBOL).opaque(utf8.encode(text)).finish();
const i128 = (amount: bigint) => createXdrWriter().uint32(SCV_I128).int64(amount >> 64n).int64(amount).finish();
const account = (publicKey: Uint8Array) =>
  createXdrWriter().uint32(SCV_ADDRESS).uint32(0).uint32(0).raw(publicKey).finish();

/** A ContractEvent is written by hand here: two of them come with every transaction. `data` is an ScVal, as the topics are. */
function contractEvent(contractId: Uint8Array, topics: Uint8Array[], data: Uint8Array): Uint8Array {
  return createXdrWriter().uint32(0).uint32(1).raw(contractId).uint32(CONTRACT_EVENT).uint32(0).list(topics).raw(data)
    .finish();
}

/** ContractEvent of a charged fee, or of a refund when negative (CAP-67). `nativeAsset` is the native asset's contract id. */
export function feeEvent(nativeAsset: Uint8Array, feeSource: Uint8Array, amount: bigint): Uint8Array {
  return contractEvent(nativeAsset, [symbol("fee"), account(feeSource)], i128(amount));
}

/** ContractEvent of lumens that a classic operation moved (CAP-67). */
export function transferEvent(
  nativeAsset: Uint8Array,
  from: Uint8Array,
  to: Uint8Array,
  amount: bigint,
  recipientId: xdr.ScVal | undefined,
): Uint8Array {
  const asset = createXdrWriter().uint32(SCV_STRING).opaque(utf8.encode("native")).finish();
  const topics = [symbol("transfer"), account(from), account(to), asset];
  if (!recipientId) return contractEvent(nativeAsset, topics, i128(amount));
  const data = createXdrWriter().uint32(SCV_MAP).uint32(1).uint32(2)
    .raw(symbol("amount")).raw(i128(amount)).raw(symbol("to_muxed_id")).raw(recipientId.toXdr());
  return contractEvent(nativeAsset, topics, data.finish());
}

/** What a transfer event says of the recipient behind the account: the muxed id, else the memo. */
export function recipientIdOf(destination: xdr.MuxedAccount | undefined, memo: xdr.Memo): xdr.ScVal | undefined {
  if (destination?.type === "keyTypeMuxedEd25519") return nativeToScVal(destination.med25519.id, { type: "u64" });
  switch (memo.type) {
    case "memoId":
      return nativeToScVal(memo.id, { type: "u64" });
    case "memoText":
      return xdr.ScVal.scvString(memo.text);
    case "memoHash":
      return xdr.ScVal.scvBytes(memo.hash.value);
    case "memoReturn":
      return xdr.ScVal.scvBytes(memo.retHash.value);
    case "memoNone":
      return undefined;
  }
}
