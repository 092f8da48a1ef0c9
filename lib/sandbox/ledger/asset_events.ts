import { nativeToScVal, xdr } from "@stellar/stellar-sdk";
import { assetContractId, assetText, isIssuer } from "./assets.ts";
import { createXdrWriter } from "./bytes.ts";

/**
 * The events of classic operations that move assets (CAP-67), as the asset's own contract would publish them. They are
 * encoded by hand for speed, because every transaction has one or two. Amounts are in the asset's smallest unit.
 */

const SCV_BOOL = 0, SCV_I128 = 10, SCV_STRING = 14, SCV_SYMBOL = 15, SCV_ADDRESS = 18, SCV_MAP = 17;
const ADDRESS_ACCOUNT = 0, ADDRESS_CLAIMABLE_BALANCE = 3;
const CONTRACT_EVENT = 1;

const utf8 = new TextEncoder();
const symbol = (text: string) => createXdrWriter().uint32(SCV_SYMBOL).opaque(utf8.encode(text)).finish();
const string = (text: string) => createXdrWriter().uint32(SCV_STRING).opaque(utf8.encode(text)).finish();
const i128 = (amount: bigint) => createXdrWriter().uint32(SCV_I128).int64(amount >> 64n).int64(amount).finish();

/** One end of a movement: an account's public key, or the hash of a claimable balance's id. */
export type Party = { account: Uint8Array } | { claimableBalance: Uint8Array };

function addressOf(party: Party): Uint8Array {
  const writer = createXdrWriter().uint32(SCV_ADDRESS);
  if ("account" in party) return writer.uint32(ADDRESS_ACCOUNT).uint32(0).raw(party.account).finish();
  return writer.uint32(ADDRESS_CLAIMABLE_BALANCE).uint32(0).raw(party.claimableBalance).finish();
}

/** ContractEvent; `data` is an ScVal, as the topics are. */
function contractEvent(contractId: Uint8Array, topics: Uint8Array[], data: Uint8Array): Uint8Array {
  return createXdrWriter().uint32(0).uint32(1).raw(contractId).uint32(CONTRACT_EVENT).uint32(0).list(topics).raw(data)
    .finish();
}

/** ContractEvent of a fee, or with a negative amount of a refund. `nativeAsset` is the native asset's contract id. */
export function feeEvent(nativeAsset: Uint8Array, feeSource: Uint8Array, amount: bigint): Uint8Array {
  return contractEvent(nativeAsset, [symbol("fee"), addressOf({ account: feeSource })], i128(amount));
}

export interface Movement {
  networkId: Uint8Array;
  asset: xdr.Asset;
  from: Party;
  to: Party;
  amount: bigint;
  /** The recipient behind the receiving account (`recipientIdOf`). */
  recipientId?: xdr.ScVal | undefined;
}

/** ContractEvent of a movement: `mint` from the issuer, `burn` to the issuer, else `transfer`. */
export function movementEvent({ networkId, asset, from, to, amount, recipientId }: Movement): Uint8Array {
  const contractId = assetContractId(networkId, asset);
  const name = string(assetText(asset));
  const issues = (party: Party) => "account" in party && isIssuer(party.account, asset);
  if (issues(to) && !issues(from)) {
    return contractEvent(contractId, [symbol("burn"), addressOf(from), name], i128(amount));
  }
  const topics = issues(from) && !issues(to)
    ? [symbol("mint"), addressOf(to), name]
    : [symbol("transfer"), addressOf(from), addressOf(to), name];
  if (!recipientId) return contractEvent(contractId, topics, i128(amount));
  const data = createXdrWriter().uint32(SCV_MAP).uint32(1).uint32(2)
    .raw(symbol("amount")).raw(i128(amount)).raw(symbol("to_muxed_id")).raw(recipientId.toXdr());
  return contractEvent(contractId, topics, data.finish());
}

/** ContractEvent of a clawback. */
export function clawbackEvent(networkId: Uint8Array, asset: xdr.Asset, from: Party, amount: bigint): Uint8Array {
  const topics = [symbol("clawback"), addressOf(from), string(assetText(asset))];
  return contractEvent(assetContractId(networkId, asset), topics, i128(amount));
}

/** ContractEvent of a change of a trustline's authorization. */
export function authorizationEvent(
  networkId: Uint8Array,
  asset: xdr.Asset,
  holder: Uint8Array,
  authorized: boolean,
): Uint8Array {
  const topics = [symbol("set_authorized"), addressOf({ account: holder }), string(assetText(asset))];
  const data = createXdrWriter().uint32(SCV_BOOL).uint32(authorized ? 1 : 0).finish();
  return contractEvent(assetContractId(networkId, asset), topics, data);
}

/** The recipient behind the account, for an event: the muxed id, else the memo. */
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
