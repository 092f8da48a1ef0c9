import { z } from "zod";
import type { AssetList } from "../assets/asset_list.ts";
import type { AgentPolicy } from "../decode.ts";
import { EXAMPLE } from "../example_values.ts";
import { accountKey } from "../../stellar/transactions/prepare.ts";
import type { ContractIds } from "../contracts/errors.ts";
import type { AsOf, Card } from "./read_source.ts";
import { balanceKey, instanceKey, nonceKey, pendingIndexKey, policyKey } from "./storage_keys.ts";
import { accountAddress, amount, contractId, deviceHash } from "../values.ts";

/** Why the contracts would refuse a payment, or could not pay it out later, in order of precedence. */
export const REFUSAL_REASONS = [
  "device_not_found",
  "agent_not_found",
  "agent_mismatch",
  "policy_expired",
  "asset_mismatch",
  "amount_exceeds_limit",
  "insufficient_escrow",
  "entry_frozen",
  "escrow_unfunded",
  "asset_frozen",
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
    description:
      "Merchant of the payment: an account (G… with its checksum). With it the check covers the merchant's pending payments, and whether the merchant can be paid.",
    example: EXAMPLE.merchant,
  }),
}).meta({ id: "PaymentCheck", description: "A payment that the client is about to prepare." });
export type CheckRequest = z.output<typeof checkRequest>;

export type PaymentVerdict = { ok: true; warning?: string } | { ok: false; reason: RefusalReason };

type Payment = Pick<CheckRequest, "asset" | "amount" | "agent">;

/** Why the contracts refuse a payment, with its numbers: `50000001 is above the policy's 50000000`. */
export interface PaymentRefusal {
  reason: RefusalReason;
  words: string;
}

/**
 * Why the contracts would refuse a payment at a given time: agent_registry.check_payment, then the balance. Undefined when
 * they would authorise it.
 * @param nowSeconds the ledger's close time, Unix seconds
 * @param isAccepted whether this gateway prepares payments in the asset; the contracts do not check that
 */
export function paymentRefusal(
  { device, policy, balance }: Card,
  { agent, asset, amount }: Payment,
  nowSeconds: number,
  isAccepted = true,
): PaymentRefusal | undefined {
  const refused = (reason: RefusalReason, words: string) => ({ reason, words });
  if (device === undefined) return refused("device_not_found", "the device registry does not know the card");
  if (policy === undefined) return refused("agent_not_found", "no agent is registered for the card");
  if (agent !== undefined && agent !== policy.agent) {
    return refused("agent_mismatch", `the card's agent is ${policy.agent}, not ${agent}`);
  }
  if (isExpired(policy, nowSeconds)) {
    const words = `the policy ended at ${policy.expiresAt}, and the ledger's time is ${nowSeconds}`;
    return refused("policy_expired", words);
  }
  if (asset !== policy.asset || !isAccepted) {
    return refused("asset_mismatch", `the policy is for the asset ${policy.asset}, not ${asset}`);
  }
  if (policy.maxAmount !== 0n && BigInt(amount) > policy.maxAmount) {
    return refused("amount_exceeds_limit", `${amount} is above the policy's ${policy.maxAmount}`);
  }
  if (balance < BigInt(amount)) {
    return refused("insufficient_escrow", `${amount} is above the ${balance} that the card's escrow holds`);
  }
  return undefined;
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
export function createPaymentChecker(
  { card, contracts, ledgerTime, assets, accountExists, isFrozen, spendable, payable }: {
    card(deviceHash: string): AsOf<Card> | Promise<AsOf<Card>>;
    contracts: ContractIds;
    /** Close time of the newest ledger, Unix seconds. */
    ledgerTime(): number | Promise<number>;
    assets: Pick<AssetList, "has">;
    /** Whether the newest ledger has this account, `G…`. */
    accountExists(address: string): Promise<boolean>;
    /** Whether the network's validators have frozen one of these entries (base64 LedgerKeys). */
    isFrozen(keys: () => string[]): Promise<boolean>;
    /** The most that a card can pay in an asset from its escrow. */
    spendable(deviceHash: string, asset: string, card: AsOf<Card>): bigint | Promise<bigint>;
    /** See `payable.ts`. */
    payable: {
      ready(payment: CheckRequest): Promise<void>;
      cached(payment: CheckRequest): Promise<{ refused?: { reason?: string }; warning?: string }>;
    };
  },
): PaymentChecker {
  return {
    async check(request) {
      const [read] = await Promise.all([card(request.deviceHash), payable.ready(request)]);
      const { policy } = read.value;
      const nowSeconds = policy !== undefined && policy.expiresAt !== 0n ? await ledgerTime() : 0;
      const refusal = paymentRefusal(read.value, request, nowSeconds, assets.has(request.asset));
      if (refusal !== undefined) return { ok: false, reason: refusal.reason };
      // `ok` means that a prepare succeeds, which needs an agent with an existing account.
      const { agent } = policy!;
      if (!agent.startsWith("G")) return { ok: false, reason: "agent_mismatch" };
      const needed = () => keysOfPayment(contracts, { ...request, agent });
      // For an asset that was not known before, all read in one call.
      const [exists, needsFrozen, { refused, warning }] = await Promise.all([
        accountExists(agent),
        isFrozen(needed),
        payable.cached(request),
      ]);
      if (!exists) return { ok: false, reason: "agent_not_found" };
      const most = await spendable(request.deviceHash, request.asset, read);
      if (BigInt(request.amount) > most) return { ok: false, reason: "insufficient_escrow" };
      if (needsFrozen) return { ok: false, reason: "entry_frozen" };
      if (refused !== undefined) return { ok: false, reason: refused.reason as RefusalReason };
      return warning === undefined ? { ok: true } : { ok: true, warning };
    },
  };
}

/** The entries that an `authorize` needs, apart from code. */
function keysOfPayment(
  { agentRegistry, paymentEscrow }: ContractIds,
  { agent, deviceHash, merchant }: CheckRequest & { agent: string },
): string[] {
  return [
    accountKey(agent),
    instanceKey(agentRegistry),
    instanceKey(paymentEscrow),
    policyKey(agentRegistry, deviceHash),
    balanceKey(paymentEscrow, deviceHash),
    nonceKey(paymentEscrow, deviceHash, agent),
    ...(merchant === undefined ? [] : [pendingIndexKey(paymentEscrow, merchant)]),
  ];
}
