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
 * A merchant's payments have numbers. The number of a payment, and so its ledger entry, depends on the payments applied
 * before it. Its envelope must name the entry when it is simulated. So an envelope also names the entries that it needs
 * when others come first: as many as are out, or were lately. A claim needs those of the payments that may precede it.
 */
export interface ReservedSlots {
  /** Called before anything else is done for an operation; undefined when it shares nothing with others. */
  enter(source: string, operation: Operation): SlotReservation | undefined;
  /** Told how a submitted call ended. */
  ended(call: ContractCall, error: unknown): void;
}

/** One envelope that is being prepared. */
export interface SlotReservation {
  /** The simulation's transaction data, with room for the others. Never rejects: what can't be widened stays as it is. */
  widen(simulation: RawSimulation): Promise<string>;
  /** Nothing was handed out after all. */
  withdraw(): void;
}

/** So many for the payments before, and one more for after a claim: 21 such envelopes still fit into one ledger. */
const MOST_SPARES = 20;
/**
 * The measured cost of one more key is 37 000 to 75 000 instructions for a payment, growing with the list. For a claim
 * it is 120 000 with few payments and 400 000 with as many as fit. Ten thousand cost seven stroops.
 */
const INSTRUCTIONS_PER_KEY = { authorize: 100_000, claim: 400_000 };

export function createReservedSlots({ paymentEscrow, terms, traffic, sharedEnvelopes, onProblem }: {
  paymentEscrow: string;
  terms: { read(): Promise<FootprintTerms> };
  traffic: MerchantEnvelopes;
  /** Absent where this gateway has the store for itself. */
  sharedEnvelopes?: SharedMerchantEnvelopes;
  onProblem?: (message: string) => void;
}): ReservedSlots {
  const keysFrom = (merchant: string, first: number, count: number): string[] =>
    Array.from({ length: count }, (_, offset) => pendingPaymentKey(paymentEscrow, merchant, first + offset));

  /** After a payment that would be kept at `last`: the next ones, and the first ones for when a claim comes in between. */
  function forPayment(
    merchant: string,
    last: number,
    others: CompetingEnvelopes,
    simulation: RawSimulation,
  ): ReservedKeys {
    const count = Math.min(others.payments, MOST_SPARES);
    const counted = writtenEntry(simulation, pendingIndexKey(paymentEscrow, merchant));
    const payment = writtenEntry(simulation, pendingPaymentKey(paymentEscrow, merchant, last));
    // Contracts were seen that count from 0 and that count from 1; the count after the first payment is 1 in both.
    const first = last + 1 - asU32(counted.val);
    return {
      keys: [...keysFrom(merchant, last + 1, count), ...keysFrom(merchant, first, count + 1)],
      instructionsPerKey: INSTRUCTIONS_PER_KEY.authorize,
      bytesPerKey: payment.bytes,
    };
  }

  /** After the last payment it would collect: those that may come before it. Removed entries are not written. */
  function forClaim(merchant: string, last: number, others: CompetingEnvelopes): ReservedKeys {
    const keys = keysFrom(merchant, last + 1, Math.min(others.payments, MOST_SPARES));
    return { keys, instructionsPerKey: INSTRUCTIONS_PER_KEY.claim, bytesPerKey: 0 };
  }

  return {
    enter(source, operation) {
      if (operation.kind !== "authorize" && operation.kind !== "claim") return undefined;
      const { kind } = operation;
      const merchant = operation.kind === "authorize" ? operation.merchant : source;
      return {
        withdraw: traffic.handOut(merchant, source, kind),
        async widen(simulation) {
          const transactionData = simulation.transactionData!;
          // The store's own errors are reported elsewhere. This gateway still knows its own envelopes.
          const everywhere = await sharedEnvelopes?.handOut(merchant, source, kind).catch(() => undefined);
          const others = traffic.others(merchant, source, everywhere);
          if (others.payments === 0 && (kind === "claim" || !others.claim)) return transactionData;
          try {
            const last = lastPayment(transactionData, paymentEscrow, merchant);
            if (last === undefined) return transactionData;
            const reserved = kind === "claim"
              ? forClaim(merchant, last, others)
              : forPayment(merchant, last, others, simulation);
            return withReservedKeys(transactionData, reserved, await terms.read());
          } catch (error) {
            onProblem?.(`${kind} is prepared without room for others: ${(error as Error).message}`);
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
      if (error instanceof OutsideFootprint) traffic.collided(asAddress(merchant));
      if (error !== undefined) return;
      traffic.confirmed(asAddress(merchant), asAddress(source), name);
      void sharedEnvelopes?.confirmed(asAddress(merchant), asAddress(source), name).catch(() => {});
    },
  };
}

/** The highest number among the payments of a merchant in a footprint, undefined when it has none. */
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

/** A contract's entry as the simulation would leave it. @throws {TypeError} when the node does not show it */
function writtenEntry({ stateChanges = [] }: RawSimulation, key: string): { val: xdr.ScVal; bytes: number } {
  const change = (stateChanges as { key?: unknown; after?: unknown }[]).find((one) => one.key === key);
  if (typeof change?.after !== "string") throw new TypeError("the simulation does not show what it changes");
  const entry = xdr.LedgerEntry.fromXdr(change.after, "base64");
  if (entry.data.type !== "contractData") throw new TypeError(`got an entry of type ${entry.data.type}`);
  return { val: entry.data.contractData.val, bytes: entry.toXdr().length };
}
