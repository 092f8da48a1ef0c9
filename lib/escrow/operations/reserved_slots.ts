import { xdr } from "@stellar/stellar-sdk/base";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import { nodeXdr } from "../../stellar/transactions/node_xdr.ts";
import { VALID_FOR_SECONDS } from "../../stellar/transactions/prepare.ts";
import type { RawSimulation } from "../../stellar/rpc/schemas.ts";
import { type FootprintTerms, type ReservedKeys, withReservedKeys } from "../../stellar/transactions/footprint.ts";
import type { Store } from "../../store/store.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { asU32 } from "../decode.ts";
import { pendingIndexKey, pendingPaymentKey } from "../reads/storage_keys.ts";
import { OutsideFootprint } from "../refusals/refusal.ts";
import { callArguments, type Operation, operationKind } from "./operations.ts";

/**
 * Reserves entries (slots) in envelopes for one merchant. The contract numbers a merchant's payments, so a payment's slot
 * depends on how many others are applied first. But the envelope names the slot at its simulation. So each envelope also
 * names the slots that it needs when others come first: one for each competing envelope, current or recent. A claim names
 * the slots of the payments that may precede it.
 */
export interface ReservedSlots {
  /** Starts the preparation of an operation; undefined when the operation competes with no other. */
  enter(source: string, operation: Operation): SlotReservation | undefined;
  /** Records the outcome of a submitted call. */
  ended(call: ContractCall, error: unknown): void;
}

/** One envelope in preparation. */
export interface SlotReservation {
  /** The simulation's transaction data with reserved slots, or unchanged where that fails. Never rejects. */
  widen(simulation: RawSimulation): Promise<string>;
  /** Ends the preparation without an envelope. */
  withdraw(): void;
}

/** The open envelopes for one merchant, of all gateways on the store. Times are Unix ms, by the store's clock. */
interface OpenEnvelopes {
  /** The end of each payer's newest envelope, oldest first: of one source the network applies one per sequence number. */
  payers: Record<string, number>;
  /** The end of the newest claim. */
  claimUntilMs: number;
  /** The most competing payments at one time: as many may come between again. */
  most: number;
  mostUntilMs: number;
}

/** An envelope counts as long as it can be applied. */
const VALID_FOR_MS = VALID_FOR_SECONDS * 1_000;
/** More payers than an envelope ever reserves slots for. */
const MOST_PAYERS = 64;
const AFTER_A_COLLISION = 4;
/** The most slots for payments before, besides one for after a claim: 21 such envelopes still fit into one ledger. */
const MOST_RESERVED = 20;
/**
 * Instructions for each further key, above those measured. A payment takes 37 000 to 75 000, more in a longer list. A claim
 * takes 120 000 where it collects few payments, and 400 000 where it collects the most. Ten thousand cost seven stroops.
 */
const INSTRUCTIONS_PER_KEY = { authorize: 100_000, claim: 400_000 };

export function createReservedSlots({ contracts, terms, sharedState, onProblem }: {
  contracts: ContractIds;
  terms: { read(): Promise<FootprintTerms> };
  sharedState: Pick<Store["sharedState"], "change">;
  onProblem?: (message: string) => void;
}): ReservedSlots {
  const { paymentEscrow } = contracts;
  const keysFrom = (merchant: string, first: number, count: number): string[] =>
    Array.from({ length: count }, (_, offset) => pendingPaymentKey(paymentEscrow, merchant, first + offset));

  /** Changes the merchant's envelopes and returns them. Undefined where the store fails, which logs that itself. */
  const change = (merchant: string, next: (open: OpenEnvelopes, untilMs: number) => OpenEnvelopes | undefined) =>
    sharedState.change(`slots ${merchant}`, (stored: OpenEnvelopes | undefined, nowMs) => {
      const open = openAt(stored, nowMs);
      const value = next(open, nowMs + VALID_FOR_MS);
      return { value, keepMs: VALID_FOR_MS, answer: { open, value } };
    }).catch(() => undefined);

  /** For a payment at the slot `last`: the slots after it, and the first ones, in case a claim comes between. */
  function forPayment(merchant: string, last: number, others: number, simulation: RawSimulation): ReservedKeys {
    const count = Math.min(others, MOST_RESERVED);
    const counted = writtenEntry(simulation, pendingIndexKey(paymentEscrow, merchant));
    const payment = writtenEntry(simulation, pendingPaymentKey(paymentEscrow, merchant, last));
    // Some contracts number from 0 and some from 1; in both the count after the first payment is 1.
    const first = last + 1 - asU32(counted.val);
    return {
      keys: [...keysFrom(merchant, last + 1, count), ...keysFrom(merchant, first, count + 1)],
      instructionsPerKey: INSTRUCTIONS_PER_KEY.authorize,
      bytesPerKey: payment.bytes,
    };
  }

  /** For a claim: the slots of payments that may come before it. A claim only removes entries, so it writes no bytes. */
  function forClaim(merchant: string, last: number, others: number): ReservedKeys {
    const keys = keysFrom(merchant, last + 1, Math.min(others, MOST_RESERVED));
    return { keys, instructionsPerKey: INSTRUCTIONS_PER_KEY.claim, bytesPerKey: 0 };
  }

  return {
    enter(source, operation) {
      if (operation.kind !== "authorize" && operation.kind !== "claim") return undefined;
      const { kind } = operation;
      const merchant = operation.kind === "authorize" ? operation.merchant : source;
      const payer = kind === "authorize" ? source : undefined;
      const entered = change(merchant, (open, untilMs) => withEnvelope(open, payer, untilMs));
      return {
        withdraw: () => void entered.then((made) => made && change(merchant, (now) => undone(now, payer, made))),
        async widen(simulation) {
          const transactionData = simulation.transactionData!;
          await entered;
          const open = (await change(merchant, () => undefined))?.open;
          const others = open === undefined ? 0 : competing(open, source);
          if (open === undefined || (others === 0 && (kind === "claim" || open.claimUntilMs === 0))) {
            return transactionData;
          }
          try {
            const last = lastPayment(transactionData, paymentEscrow, merchant);
            if (last === undefined) return transactionData;
            const reserved = kind === "claim"
              ? forClaim(merchant, last, others)
              : forPayment(merchant, last, others, simulation);
            return withReservedKeys(transactionData, reserved, await terms.read());
          } catch (error) {
            onProblem?.(`${kind} is prepared without reserved slots: ${(error as Error).message}`);
            return transactionData;
          }
        },
      };
    },

    ended(call, error) {
      const kind = operationKind(contracts, call);
      if (kind !== "authorize" && kind !== "claim") return;
      const { source, merchant = source } = callArguments(contracts, call) ?? {};
      if (merchant === undefined) return;
      if (error instanceof OutsideFootprint) void change(merchant, afterCollision);
      if (error !== undefined) return;
      void change(merchant, (open) => {
        if (kind === "claim") return { ...open, claimUntilMs: 0 };
        return { ...open, payers: withoutPayer(open, source!) };
      });
    },
  };
}

/** Without what has ended. An end later than any envelope has comes from a clock that was ahead. */
function openAt(stored: OpenEnvelopes | undefined, nowMs: number): OpenEnvelopes {
  const { payers, claimUntilMs, most, mostUntilMs } = stored ??
    { payers: {}, claimUntilMs: 0, most: 0, mostUntilMs: 0 };
  const isOpen = (untilMs: number) => untilMs > nowMs && untilMs <= nowMs + VALID_FOR_MS;
  return {
    payers: Object.fromEntries(Object.entries(payers).filter(([, untilMs]) => isOpen(untilMs))),
    claimUntilMs: isOpen(claimUntilMs) ? claimUntilMs : 0,
    most: isOpen(mostUntilMs) ? most : 0,
    mostUntilMs,
  };
}

function withoutPayer({ payers }: OpenEnvelopes, payer: string): Record<string, number> {
  return Object.fromEntries(Object.entries(payers).filter(([one]) => one !== payer));
}

/** The payments that the network may apply before an envelope of this source, now or again. */
function competing(open: OpenEnvelopes, source: string): number {
  return Math.max(Object.keys(withoutPayer(open, source)).length, open.most);
}

/** With a payment of this payer, or without one the merchant's claim. */
function withEnvelope(open: OpenEnvelopes, payer: string | undefined, untilMs: number): OpenEnvelopes {
  if (payer === undefined) return { ...open, claimUntilMs: untilMs };
  const others = Object.entries(withoutPayer(open, payer));
  const payers = Object.fromEntries([...others, [payer, untilMs] as const].slice(-MOST_PAYERS));
  return atLeast({ ...open, payers }, Math.min(others.length, MOST_PAYERS), untilMs);
}

/** Takes an envelope back, unless its source has made another since. The one before it counts again. */
function undone(
  now: OpenEnvelopes,
  payer: string | undefined,
  { open: before, value: made }: { open: OpenEnvelopes; value?: OpenEnvelopes },
): OpenEnvelopes | undefined {
  if (payer === undefined) {
    return now.claimUntilMs === made?.claimUntilMs ? { ...now, claimUntilMs: before.claimUntilMs } : undefined;
  }
  if (now.payers[payer] !== made?.payers[payer]) return undefined;
  const earlier = before.payers[payer];
  return { ...now, payers: { ...withoutPayer(now, payer), ...(earlier === undefined ? {} : { [payer]: earlier }) } };
}

/** Others came between a payment or claim and made it fail. */
function afterCollision(open: OpenEnvelopes, untilMs: number): OpenEnvelopes {
  return atLeast(open, Math.min(MOST_PAYERS, Math.max(AFTER_A_COLLISION, open.most * 2)), untilMs);
}

function atLeast(open: OpenEnvelopes, payments: number, untilMs: number): OpenEnvelopes {
  return payments === 0 || payments < open.most ? open : { ...open, most: payments, mostUntilMs: untilMs };
}

/** The highest slot of a merchant in a footprint, undefined when it has none. */
function lastPayment(transactionData: string, paymentEscrow: string, merchant: string): number | undefined {
  const { readOnly, readWrite } = nodeXdr(
    "transactionData",
    () => xdr.SorobanTransactionData.fromXdr(transactionData, "base64"),
  ).resources.footprint;
  const numbers = [...readOnly, ...readWrite].flatMap((key) => {
    if (key.type !== "contractData" || key.contractData.key.type !== "scvVec") return [];
    const pair = key.contractData.key.vec?.[1];
    const index = pair?.type === "scvVec" ? pair.vec?.[1] : undefined;
    if (index?.type !== "scvU32") return [];
    return key.toXdr("base64") === pendingPaymentKey(paymentEscrow, merchant, index.u32) ? [index.u32] : [];
  });
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

/** A contract's entry after the simulation. @throws {TypeError} when the node does not return it */
function writtenEntry({ stateChanges = [] }: RawSimulation, key: string): { val: xdr.ScVal; bytes: number } {
  const change = (stateChanges as { key?: unknown; after?: unknown }[]).find((one) => one.key === key);
  if (typeof change?.after !== "string") throw new TypeError("the simulation does not show what it changes");
  const entry = xdr.LedgerEntry.fromXdr(change.after, "base64");
  if (entry.data.type !== "contractData") throw new TypeError(`got an entry of type ${entry.data.type}`);
  return { val: entry.data.contractData.val, bytes: entry.toXdr().length };
}
