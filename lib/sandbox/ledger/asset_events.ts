import { Address, nativeToScVal, xdr } from "@stellar/stellar-sdk";

const symbol = (text: string) => xdr.ScVal.scvSymbol(text);
const i128 = (amount: bigint) => nativeToScVal(amount, { type: "i128" });
const account = (publicKey: Uint8Array) => Address.account(publicKey).toScVal();

function contractEvent(contractId: Uint8Array, topics: xdr.ScVal[], data: xdr.ScVal): Uint8Array {
  return new xdr.ContractEvent({
    ext: xdr.ExtensionPoint.v0(),
    contractId: new xdr.ContractId(contractId),
    type: xdr.ContractEventType.contract,
    body: xdr.ContractEventBody.v0(new xdr.ContractEventV0({ topics, data })),
  }).toXdr();
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
  const topics = [symbol("transfer"), account(from), account(to), xdr.ScVal.scvString("native")];
  if (!recipientId) return contractEvent(nativeAsset, topics, i128(amount));
  const data = xdr.ScVal.scvMap([
    new xdr.ScMapEntry({ key: symbol("amount"), val: i128(amount) }),
    new xdr.ScMapEntry({ key: symbol("to_muxed_id"), val: recipientId }),
  ]);
  return contractEvent(nativeAsset, topics, data);
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
