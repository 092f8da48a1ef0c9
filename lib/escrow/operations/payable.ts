import { type Asset, Keypair, xdr } from "@stellar/stellar-sdk/base";
import { createRecentMap } from "../../bounded_map.ts";
import type { GatewayError } from "../../errors.ts";
import type { EntryReader } from "../../stellar/entries.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import { nodeXdr } from "../../stellar/transactions/node_xdr.ts";
import { accountKey } from "../../stellar/transactions/prepare.ts";
import { type AssetBalance, assetBalance, builtInAsset } from "../assets/asset_contract.ts";
import type { EscrowLog } from "../assets/escrow_log.ts";
import type { AnswerCache } from "../reads/answer_cache.ts";
import type { AsOf } from "../reads/read_source.ts";
import { assetBalanceKey, instanceKey } from "../reads/storage_keys.ts";
import { refusal } from "./asset_guard.ts";

/** A payment that the contracts would authorise. */
export interface PaymentDue {
  asset: string;
  amount: string;
  /** `G…`. Without it the answer is about this payment alone. */
  merchant?: string;
}

/** Whether the payment can be paid out; both are undefined when it can, or when that is not known. */
export interface Verdict {
  /** The escrow contract cannot pay the merchant: `escrow_unfunded` or `asset_frozen`. */
  refused?: GatewayError;
  /** The merchant cannot be paid. */
  warning?: string;
}

/** The entries behind a verdict, as of one ledger, and the merchant's pending payments. */
export interface PaymentFunds {
  held: AssetBalance | undefined;
  pending: bigint;
  account: RawLedgerEntry | undefined;
  trustline: RawLedgerEntry | undefined;
}

/**
 * Checks that the escrow contract can pay out a payment, and that the merchant can receive it. Knows built-in asset
 * contracts only. Other tokens get no verdict.
 */
export interface Payable {
  /** Reads ahead for `cached`, in a call that the caller makes anyway. Never rejects. */
  ready(payment: PaymentDue): Promise<void>;
  /** By entries that are not from the cache. */
  now(payment: PaymentDue): Promise<Verdict>;
  /** By the cached state of the newest ledger. */
  cached(payment: PaymentDue): Promise<Verdict>;
}

const MOST_ASSETS = 1_000;

export function createPayable({ entries, log, paymentEscrow, answers }: {
  entries: EntryReader;
  log: Pick<EscrowLog, "pending">;
  paymentEscrow: string;
  answers: AnswerCache<PaymentFunds>;
}): Payable {
  /** The asset of each asset contract; null for other contracts. */
  const known = createRecentMap<Asset | null>(MOST_ASSETS);

  async function learn(contract: string): Promise<Asset | null> {
    const { entries: [instance] } = await entries.read([instanceKey(contract)]);
    // Somebody may deploy it later.
    if (instance === undefined) return null;
    const asset = builtInAsset(instance) ?? null;
    known.set(contract, asset);
    return asset;
  }

  async function read(
    asset: Asset,
    { asset: contract, merchant }: PaymentDue,
    fresh: boolean,
  ): Promise<AsOf<PaymentFunds>> {
    const keys = [assetBalanceKey(contract, paymentEscrow)];
    if (merchant !== undefined) keys.push(accountKey(merchant));
    if (merchant !== undefined && needsTrustline(merchant, asset)) keys.push(trustlineKey(merchant, asset));
    const [{ ledger, entries: [balance, account, trustline] }, pending] = await Promise.all([
      entries.read(keys, { fresh }),
      merchant === undefined ? 0n : log.pending(merchant, contract),
    ]);
    return { ledger, value: { held: assetBalance(balance), pending, account, trustline } };
  }

  async function verdict(
    payment: PaymentDue,
    funds: (asset: Asset) => PaymentFunds | Promise<PaymentFunds>,
  ): Promise<Verdict> {
    let asset = known.get(payment.asset);
    if (asset === undefined) asset = await learn(payment.asset);
    return asset === null ? {} : verdictOf(asset, payment, await funds(asset));
  }

  const cached = (payment: PaymentDue) =>
    verdict(payment, (asset) => {
      return answers.get(`${payment.asset} ${payment.merchant}`, () => read(asset, payment, false));
    });

  return {
    async ready(payment) {
      await (known.get(payment.asset) === undefined ? learn(payment.asset) : cached(payment)).catch(() => {});
    },
    now: (payment) => verdict(payment, async (asset) => (await read(asset, payment, true)).value),
    cached,
  };
}

function verdictOf(asset: Asset, payment: PaymentDue, { held, pending, ...merchant }: PaymentFunds): Verdict {
  const due = pending + BigInt(payment.amount);
  // The network archives an entry after months without use. A claim restores it.
  if (held !== undefined && held.amount < due) {
    const { amount } = held;
    const most = amount > pending ? amount - pending : 0n;
    const beside = pending === 0n ? "" : `, and the merchant's pending payments are ${pending}`;
    const be = `at most ${most}: the escrow contract holds ${amount} of ${payment.asset}${beside}`;
    return { refused: refusal("source", "amount", be, payment.amount, "escrow_unfunded") };
  }
  if (held?.authorized === false) {
    const be = "an asset that the escrow contract can pay out: the issuer froze the contract's balance";
    return { refused: refusal("source", "asset", be, payment.asset, "asset_frozen") };
  }
  return payment.merchant === undefined ? {} : { warning: warningOf(asset, payment.merchant, due, merchant) };
}

/** Begins the warning. */
export const CANNOT_CLAIM = "the merchant cannot claim this payment now";

/** Why the merchant cannot receive all that is due. The contract pays all pending payments at once, or none. */
function warningOf(
  asset: Asset,
  merchant: string,
  due: bigint,
  { account, trustline }: Pick<PaymentFunds, "account" | "trustline">,
): string | undefined {
  const cannot = (why: string) => `${CANNOT_CLAIM}: ${merchant} ${why}`;
  if (account === undefined) return cannot("has no account on this network");
  if (!needsTrustline(merchant, asset)) return undefined;
  if (trustline === undefined) return cannot(`has no trustline for ${asset}`);
  const { isAuthorized, room } = lineOf(trustline);
  if (!isAuthorized) return cannot(`has a trustline for ${asset} that the issuer has not authorised`);
  if (room >= due) return undefined;
  return cannot(`has room for ${room} up to the limit of its trustline for ${asset}, and ${due} would be pending`);
}

function needsTrustline(merchant: string, asset: Asset): boolean {
  return !asset.isNative() && asset.getIssuer() !== merchant;
}

function trustlineKey(holder: string, asset: Asset): string {
  const accountId = Keypair.fromPublicKey(holder).xdrAccountId();
  const line = new xdr.LedgerKeyTrustLine({ accountId, asset: asset.toTrustLineXdrObject() });
  return xdr.LedgerKey.trustline(line).toXdr("base64");
}

function lineOf(entry: RawLedgerEntry): { isAuthorized: boolean; room: bigint } {
  return nodeXdr("the merchant's trustline", () => {
    const data = xdr.LedgerEntryData.fromXdr(entry.xdr, "base64");
    if (data.type !== "trustline") throw new TypeError(`got an entry of type ${data.type}`);
    const { balance, limit, flags, ext } = data.trustLine;
    // Offers to buy the asset reserve room.
    const reserved = ext.type === "v1" ? ext.v1.liabilities.buying : 0n;
    return { isAuthorized: (flags & xdr.TrustLineFlags.authorizedFlag.value) !== 0, room: limit - reserved - balance };
  });
}
