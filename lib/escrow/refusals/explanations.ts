import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import type { Excess, FootprintTerms } from "../../stellar/transactions/footprint.ts";
import type { ContractIds } from "../contracts/errors.ts";
import type { Argument } from "../contracts/interfaces.ts";
import { callArguments } from "../operations/operations.ts";
import { collectablePayments, revocableCards } from "../operations/warnings.ts";
import { paymentRefusal, type RefusalReason } from "../reads/payment_check.ts";
import type { EscrowReads } from "../reads/reads.ts";

/** The cause of a contract's error, with the numbers that the error lacks. */
export interface Explanation {
  reason?: RefusalReason;
  /** The end of a message. */
  words: string;
  /** The field of a prepare that is at fault. */
  param?: string;
}

/** Finds the causes of refusals. No method rejects; it resolves with undefined when it finds no cause. */
export interface Explanations {
  /**
   * Why a contract refused a call. `AgentNotAuthorized` has five causes, `BalanceError` does not name the balance, and other
   * errors lack their numbers. Undefined where the error's name is enough.
   * @param name of the contract's error
   * @param detail the host's text
   */
  ofRefusal(call: ContractCall, name: string, detail: string): Promise<Explanation | undefined>;
  /** Why a call needs more than one transaction may use, and what to do. */
  ofSize(call: ContractCall, excess?: Excess): Promise<string | undefined>;
}

/** Those of the call's function; no other is read. */
type Arguments = Record<Argument, string>;

/** The field at fault for each reason; the other reasons have none in the request. */
const PARAMS: Partial<Record<RefusalReason, string>> = {
  agent_not_found: "operation.deviceHash",
  agent_mismatch: "source",
  policy_expired: "operation.deviceHash",
  asset_mismatch: "operation.asset",
  amount_exceeds_limit: "operation.amount",
  insufficient_escrow: "operation.amount",
};

export function createExplanations({ contracts, reads, ledgerTime, terms }: {
  contracts: ContractIds;
  reads: Pick<EscrowReads, "card" | "walletDevices" | "pending" | "lastNonce" | "paidSinceClaim">;
  /** Close time of the newest ledger, Unix seconds. */
  ledgerTime(): number | Promise<number>;
  /** The network's limits. */
  terms: { read(): Promise<FootprintTerms> };
}): Explanations {
  const argumentsOf = (call: ContractCall) => callArguments(contracts, call) as Arguments;

  async function ofPayment({ source: agent, deviceHash, asset, amount }: Arguments): Promise<Explanation | undefined> {
    const payment = { agent, asset, amount };
    const [{ value: card }, nowSeconds] = await Promise.all([reads.card(deviceHash), ledgerTime()]);
    // The escrow contract does not check that the device is registered.
    const device = card.device ?? { owner: "", agent: "", status: 0, createdAt: 0n };
    const refusal = paymentRefusal({ ...card, device }, payment, nowSeconds);
    return refusal && { ...refusal, param: PARAMS[refusal.reason] };
  }

  async function ofNonce({ source: agent, deviceHash, nonce }: Arguments): Promise<Explanation> {
    const last = await reads.lastNonce(deviceHash, agent).catch(() => undefined);
    const words = last === undefined || last < BigInt(nonce)
      ? `${nonce} is not above the last nonce of this card and agent`
      : `${nonce} is not above ${last}, the last nonce of this card and agent`;
    return { words, param: "operation.nonce" };
  }

  async function ofDefunding({ deviceHash, amount }: Arguments): Promise<Explanation> {
    const { value: { balance } } = await reads.card(deviceHash);
    return {
      words: `${amount} is above the ${balance} that the card's escrow holds`,
      param: "operation.amount",
    };
  }

  async function explained(call: ContractCall, name: string, detail: string): Promise<Explanation | undefined> {
    if (name === "BalanceError") return ofBalance(call, detail);
    if (call.function === "authorize") {
      if (name === "DuplicateAuth") return await ofNonce(argumentsOf(call));
      const isPayment = name === "AgentNotAuthorized" || name === "InsufficientBalance";
      return isPayment ? await ofPayment(argumentsOf(call)) : undefined;
    }
    const isDefunding = call.function === "defund_escrow" && name === "InsufficientBalance";
    return isDefunding ? await ofDefunding(argumentsOf(call)) : undefined;
  }

  async function ofRevocation({ source: wallet, deviceHash }: Arguments): Promise<string> {
    const [devices, limits] = await Promise.all([reads.walletDevices(wallet), terms.read()]);
    const { most, inAnyOrder } = revocableCards(limits);
    if (devices.length > most) {
      return `the contract reads all ${devices.length} cards of this wallet to revoke one, and can read ${most} at most, so ` +
        "it can revoke none of them. For each card revokeAgent still ends its payments, and sweepEscrow or defundEscrow " +
        "then takes its money back";
    }
    const place = devices.indexOf(deviceHash) + 1;
    const newer = devices.length - place + 1 - inAnyOrder;
    const first = newer > 1 ? `${newer} newer cards` : newer === 1 ? "a newer card" : "newer cards";
    return `the contract moves each newer card of the wallet one place down, and this is number ${place} of ` +
      `${devices.length}: revoke ${first} of this wallet first`;
  }

  async function ofClaim({ source: merchant }: Arguments, excess?: Excess): Promise<string> {
    const [{ payments }, paid = 0, limits] = await Promise.all([
      reads.pending(merchant),
      reads.paidSinceClaim(merchant),
      terms.read(),
    ]);
    const most = collectablePayments(limits);
    if (paid > most) {
      return `a claim goes through all ${paid} payments since the merchant's last claim, expired ones included, and at most ` +
        `${most} fit. The contract can no longer collect any of them: take payments at another account`;
    }
    const all = `the contract collects all ${payments?.length ?? "of a merchant's"} pending payments at once, or none`;
    const after = "The merchant loses expired payments: claim more often";
    // Each payment is one written entry, which is gone when it expires.
    const last = excess && payments?.[excess.entries - excess.most - 1];
    if (typeof last?.expiresAt !== "number") return `${all}. A claim fits again when the oldest have expired. ${after}`;
    const time = new Date(last.expiresAt * 1_000).toISOString();
    return `${all}. A claim fits again when the oldest ${
      excess!.entries - excess!.most
    } have expired, at about ${time}. ${after}`;
  }

  return {
    ofRefusal: (call, name, detail) => explained(call, name, detail).catch(() => undefined),
    async ofSize(call, excess) {
      if (call.function !== "revoke" && call.function !== "claim") return undefined;
      const values = argumentsOf(call);
      const why = call.function === "revoke" ? ofRevocation(values) : ofClaim(values, excess);
      return await why.catch(() => undefined);
    },
  };
}

/** The asset contract's text about a contract's balance; its text about an account's balance differs. */
const OF_A_CONTRACT = /balance is not sufficient to spend/;

/** Whose balance an asset contract rejects: the payer's, the escrow contract's or the receiver's. */
function ofBalance({ function: name }: ContractCall, detail: string): Explanation {
  if (name === "fund_escrow") {
    return {
      words: "the source holds less of the asset than that; an account cannot spend its lumen reserve",
      param: "operation.amount",
    };
  }
  const words = OF_A_CONTRACT.test(detail)
    ? "the escrow contract, which pays it, holds less of this asset than that"
    : "the receiving account can hold no more of this asset, or the escrow contract holds less than that";
  return { words };
}
