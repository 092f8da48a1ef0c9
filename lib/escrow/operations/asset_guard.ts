import { GatewayError } from "../../errors.ts";
import type { CallInEnvelope } from "../../stellar/transactions/contract_call.ts";
import type { EscrowLog } from "../assets/escrow_log.ts";
import { heldAtMost, heldInOthers, type Holdings, UNKNOWN_ASSET } from "../assets/holdings.ts";
import type { OperationKind } from "../contracts/interfaces.ts";
import type { RefusalReason } from "../reads/payment_check.ts";
import type { Card } from "../reads/read_source.ts";
import type { CallArguments } from "./operations.ts";

/** The operation's field at fault. */
type Field = "asset" | "amount" | "deviceHash";

/** A call on a card. */
export interface CardCall extends CallArguments {
  kind: OperationKind;
  deviceHash: string;
  param: CallInEnvelope["param"];
}

/** A call that moves money of a card's escrow, or names its asset. */
export type AssetCall = CardCall & { asset: string };

/** A card's escrow in the current ledger. */
export interface EscrowNow {
  balance: bigint;
  /** The last ledger that changed the balance; undefined when unknown. */
  changedIn: number | undefined;
}

/**
 * Refuses a call that would take one asset out of an escrow that holds another, or put a second one in. The contract keeps
 * one balance for all assets. An amount whose asset the log does not know may leave in any asset.
 * @throws {GatewayError} `invalid_request`; `upstream_error` while the log has not reached the last change
 */
export async function guardAssets(log: EscrowLog, call: AssetCall, { balance, changedIn }: EscrowNow): Promise<void> {
  if (balance === 0n) return;
  const { kind, deviceHash, asset } = call;
  if (changedIn !== undefined) await log.reaches(changedIn);
  const holdings = await log.holdings(deviceHash, balance);
  if (kind === "defundEscrow") return refuseMoreThanHeld(call, holdings, balance);
  if (heldInOthers(holdings, asset).length > 0) throw otherAsset(call, holdings);
  if (kind === "sweepEscrow" || !holdings.has(UNKNOWN_ASSET)) return;
  const funded = await log.lastFunded(deviceHash);
  if (funded !== undefined && funded !== asset) throw otherAsset(call, new Map([[funded, balance]]));
}

/**
 * Refuses a payment that would spend another asset than its own. Costs one read of the log, and does not wait for the log,
 * because the gateway checked the policy's asset at the agent's registration.
 * @throws {GatewayError} `invalid_request`
 */
export async function guardPayment(log: EscrowLog, call: AssetCall, card: () => Promise<Card>): Promise<void> {
  const { deviceHash, asset } = call;
  if (!await log.mayHoldOthers(deviceHash, asset)) return;
  const { policy, balance } = await card();
  // The contract itself refuses another asset than the policy's.
  if (policy?.asset === asset) refuseMoreThanHeld(call, await log.holdings(deviceHash, balance), balance);
}

/** Leaves amounts above the whole balance to the contract, which refuses them. */
function refuseMoreThanHeld(call: AssetCall, holdings: Holdings, balance: bigint): void {
  const { deviceHash, asset } = call;
  const amount = BigInt(call.amount ?? 0);
  const most = heldAtMost(holdings, asset);
  if (amount <= most || amount > balance) return;
  if (most === 0n && call.kind === "defundEscrow") throw otherAsset(call, holdings);
  const beside = inWords(heldInOthers(holdings, asset));
  throw refusal(
    call.param,
    "amount",
    `at most ${most}, what the escrow of card ${deviceHash} holds of ${asset}, beside ${beside}`,
    `${amount}`,
    "insufficient_escrow",
  );
}

function otherAsset(call: AssetCall, holdings: Holdings): GatewayError {
  const { kind, deviceHash, asset, param } = call;
  const known = [...holdings].filter(([held]) => held !== UNKNOWN_ASSET);
  const [[held, amount] = ["", 0n]] = known;
  if (known.length > 1 && kind !== "defundEscrow") {
    const be = `a card with a single asset in its escrow, not ${inWords(known)}: take out each with defundEscrow first`;
    return refusal(param, "deviceHash", be, deviceHash, "asset_mismatch");
  }
  const leaves = kind === "sweepEscrow" || kind === "defundEscrow";
  const be = known.length > 1
    ? `an asset in the card's escrow, which holds ${inWords(known)}`
    : `${held}, of which the card's escrow holds ${amount}${leaves ? "" : ": sweep it first"}`;
  return refusal(param, "asset", be, asset, "asset_mismatch");
}

/** Assets and their amounts, as part of a message. */
export function inWords(held: Iterable<[asset: string, amount: bigint]>): string {
  return [...held].map(([asset, amount]) => `${amount} of ${asset}`).join(" and ");
}

const NOUNS: Record<Field, string> = { asset: "asset", amount: "amount", deviceHash: "card" };

/** A refusal that names the field at fault. */
export function refusal(
  param: AssetCall["param"],
  field: Field,
  be: string,
  got: string,
  reason?: RefusalReason,
): GatewayError {
  const [at, must] = param === "source" ? [`operation.${field}`, "be"] : [param, `name as ${NOUNS[field]}`];
  return new GatewayError("invalid_request", `${at} must ${must} ${be}; got ${got}`, { param: at, reason });
}
