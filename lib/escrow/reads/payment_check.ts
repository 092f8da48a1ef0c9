import { z } from "zod";
import type { AssetList } from "../assets/asset_list.ts";
import type { AgentPolicy } from "../decode.ts";
import { EXAMPLE } from "../example_values.ts";
import type { AsOf, Card } from "./read_source.ts";
import { accountAddress, amount, contractId, deviceHash } from "../values.ts";

/** Why the contracts would refuse a payment, in order of precedence. */
export const REFUSAL_REASONS = [
  "device_not_found",
  "agent_not_found",
  "agent_mismatch",
  "policy_expired",
  "asset_mismatch",
  "amount_exceeds_limit",
  "insufficient_escrow",
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** The body of a payment check. Agent and merchant are accounts, as for `authorize`; the contracts accept any merchant. */
export const checkRequest = z.strictObject({
  deviceHash,
  asset: contractId,
  amount,
  agent: accountAddress.optional().meta({
    description: "Agent that would authorise the payment: an account (G… with its checksum). Absent: the card's agent.",
  }),
  merchant: accountAddress.optional().meta({
    description: "Merchant of the payment: an account (G… with its checksum). It does not change the verdict.",
    example: EXAMPLE.merchant,
  }),
}).meta({ id: "PaymentCheck", description: "A payment that the client is about to prepare." });
export type CheckRequest = z.output<typeof checkRequest>;

export type PaymentVerdict = { ok: true } | { ok: false; reason: RefusalReason };

/**
 * Whether the contracts would authorise a payment at a given time: agent_registry.check_payment, then the balance.
 * @param nowSeconds the ledger's close time, Unix seconds
 * @param isAccepted whether this gateway prepares payments in the asset; the contracts do not check that
 */
export function checkPayment(
  { device, policy, balance }: Card,
  request: Pick<CheckRequest, "asset" | "amount" | "agent">,
  nowSeconds: number,
  isAccepted = true,
): PaymentVerdict {
  const reason = refusalReason({ device, policy, balance }, request, nowSeconds, isAccepted);
  return reason === undefined ? { ok: true } : { ok: false, reason };
}

function refusalReason(
  { device, policy, balance }: Card,
  request: Pick<CheckRequest, "asset" | "amount" | "agent">,
  nowSeconds: number,
  isAccepted: boolean,
): RefusalReason | undefined {
  const amountAsked = BigInt(request.amount);
  if (device === undefined) return "device_not_found";
  if (policy === undefined) return "agent_not_found";
  if (request.agent !== undefined && request.agent !== policy.agent) return "agent_mismatch";
  if (isExpired(policy, nowSeconds)) return "policy_expired";
  if (request.asset !== policy.asset || !isAccepted) return "asset_mismatch";
  if (policy.maxAmount !== 0n && amountAsked > policy.maxAmount) return "amount_exceeds_limit";
  if (balance < amountAsked) return "insufficient_escrow";
  return undefined;
}

/** The reason with its numbers, as the end of a message: `50000001 is above the policy's 50000000`. */
export function refusalWords(
  reason: RefusalReason,
  { policy, balance }: Card,
  { agent, asset, amount }: Pick<CheckRequest, "asset" | "amount" | "agent">,
  nowSeconds: number,
): string {
  switch (reason) {
    case "device_not_found":
      return "the device registry does not know the card";
    case "agent_not_found":
      return "no agent is registered for the card";
    case "agent_mismatch":
      return `the card's agent is ${policy!.agent}, not ${agent}`;
    case "policy_expired":
      return `the policy ended at ${policy!.expiresAt}, and the ledger's time is ${nowSeconds}`;
    case "asset_mismatch":
      return `the policy is for the asset ${policy!.asset}, not ${asset}`;
    case "amount_exceeds_limit":
      return `${amount} is above the policy's ${policy!.maxAmount}`;
    case "insufficient_escrow":
      return `${amount} is above the ${balance} that the card's escrow holds`;
  }
}

/** A policy is valid through its last second. */
function isExpired({ expiresAt }: AgentPolicy, nowSeconds: number): boolean {
  return expiresAt !== 0n && BigInt(nowSeconds) > expiresAt;
}

export interface PaymentChecker {
  /** @throws {GatewayError} `upstream_error` */
  check(request: CheckRequest): Promise<PaymentVerdict>;
}

/** Answers payment checks from the cached state of the newest ledger, at that ledger's close time. */
export function createPaymentChecker({ card, ledgerTime, assets, accountExists, spendable }: {
  card(deviceHash: string): AsOf<Card> | Promise<AsOf<Card>>;
  /** Close time of the newest ledger, Unix seconds. */
  ledgerTime(): number | Promise<number>;
  assets: Pick<AssetList, "has">;
  /** Whether the newest ledger has this account, `G…`. */
  accountExists(address: string): Promise<boolean>;
  /** The most that a card can pay in an asset from its escrow. */
  spendable(deviceHash: string, asset: string, card: AsOf<Card>): bigint | Promise<bigint>;
}): PaymentChecker {
  return {
    async check(request) {
      const read = await card(request.deviceHash);
      const { value: found } = read;
      const mayExpire = found.policy !== undefined && found.policy.expiresAt !== 0n;
      const verdict = checkPayment(found, request, mayExpire ? await ledgerTime() : 0, assets.has(request.asset));
      // `ok` means that a prepare succeeds, which needs an agent with an existing account.
      const { agent } = found.policy ?? {};
      if (!verdict.ok || agent === undefined) return verdict;
      if (!agent.startsWith("G")) return { ok: false, reason: "agent_mismatch" };
      if (!await accountExists(agent)) return { ok: false, reason: "agent_not_found" };
      const most = await spendable(request.deviceHash, request.asset, read);
      return BigInt(request.amount) <= most ? verdict : { ok: false, reason: "insufficient_escrow" };
    },
  };
}
