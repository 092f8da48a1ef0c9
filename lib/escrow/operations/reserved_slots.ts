import { xdr } from "@stellar/stellar-sdk/base";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import { nodeXdr } from "../../stellar/transactions/node_xdr.ts";
import type { RawSimulation } from "../../stellar/rpc/schemas.ts";
import { type FootprintTerms, type ReservedKeys, withReservedKeys } from "../../stellar/transactions/reserved_keys.ts";
import { asAddress, asU32 } from "../decode.ts";
import type { CompetingEnvelopes, MerchantEnvelopes, SharedMerchantEnvelopes } from "./merchant_envelopes.ts";
import type { Operation } from "./operations.ts";
import { OutsideFootprint } from "../refusals/refusal.ts";
import { pendingIndexKey, pendingPaymentKey } from "../reads/storage_keys.ts";

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

/** The most slots for payments before, besides one for after a claim: 21 such envelopes still fit into one ledger. */
const MOST_RESERVED = 20;
/**
 * Instructions for each further key, above those measured. A payment takes 37 000 to 75 000, more in a longer list. A claim
 * takes 120 000 where it collects few payments, and 400 000 where it collects the most. Ten thousand cost seven stroops.
 */
const INSTRUCTIONS_PER_KEY = { authorize: 100_000, claim: 400_000 };

export function createReservedSlots({ paymentEscrow, terms, envelopes, sharedEnvelopes, onProblem }: {
  paymentEscrow: string;
  terms: { read(): Promise<FootprintTerms> };
  envelopes: MerchantEnvelopes;
  /** Absent when this gateway has the store for itself. */
  sharedEnvelopes?: SharedMerchantEnvelopes;
  onProblem?: (message: string) => void;
}): ReservedSlots {
  const keysFrom = (merchant: string, first: number, count: number): string[] =>
    Array.from({ length: count }, (_, offset) => pendingPaymentKey(paymentEscrow, merchant, first + offset));

  /** For a payment at the slot `last`: the slots after it, and the first ones, in case a claim comes between. */
  function forPayment(
    merchant: string,
    last: number,
    others: CompetingEnvelopes,
    simulation: RawSimulation,
  ): ReservedKeys {
    const count = Math.min(others.payments, MOST_RESERVED);
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
  function forClaim(merchant: string, last: number, others: CompetingEnvelopes): ReservedKeys {
    const keys = keysFrom(merchant, last + 1, Math.min(others.payments, MOST_RESERVED));
    return { keys, instructionsPerKey: INSTRUCTIONS_PER_KEY.claim, bytesPerKey: 0 };
  }

  return {
    enter(source, operation) {
      if (operation.kind !== "authorize" && operation.kind !== "claim") return undefined;
      const { kind } = operation;
      const merchant = operation.kind === "authorize" ? operation.merchant : source;
      return {
        withdraw: envelopes.handOut(merchant, source, kind),
        async widen(simulation) {
          const transactionData = simulation.transactionData!;
          // Where the store fails (it logs that itself), this gateway's own envelopes still count.
          const everywhere = await sharedEnvelopes?.handOut(merchant, source, kind).catch(() => undefined);
          const others = envelopes.others(merchant, source, everywhere);
          if (others.payments === 0 && (kind === "claim" || !others.claim)) return transactionData;
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

    ended({ contract, function: name, args }, error) {
      if (contract !== paymentEscrow || (name !== "authorize" && name !== "claim")) return;
      // By the order of the contract's arguments; see `contractCall`.
      const [source, merchant] = name === "authorize" ? [args[0], args[2]] : [args[1], args[1]];
      if (source?.type !== "scvAddress" || merchant?.type !== "scvAddress") return;
      if (error instanceof OutsideFootprint) envelopes.collided(asAddress(merchant));
      if (error !== undefined) return;
      envelopes.confirmed(asAddress(merchant), asAddress(source), name);
      void sharedEnvelopes?.confirmed(asAddress(merchant), asAddress(source), name).catch(() => {});
    },
  };
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
