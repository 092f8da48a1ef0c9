import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import { type BuiltTransaction, type PreparedTransaction, readPrepared } from "../../stellar/transactions/prepare.ts";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import type { Transactions } from "../../stellar/transactions/transactions.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { contractCall, nonceIn, type Operation, type PreparedOperation } from "./operations.ts";
import type { ReservedSlots, SlotReservation } from "./reserved_slots.ts";

export interface PrepareRequest {
  /** The acting account, `G…`. */
  source: string;
  operation: Operation;
}

/** An unsigned envelope and what it will do. */
export type PreparedRequest = PreparedTransaction & {
  operation: PreparedOperation;
  /** A warning to read before signing. */
  warning?: string;
};

/** The same of one that was just built: `sinceLedger` as in `BuiltTransaction`. */
export type BuiltRequest = PreparedRequest & Pick<BuiltTransaction, "sinceLedger">;

/**
 * The answer for an unsigned envelope of this request, byte for byte as when it was prepared, and its sequence number.
 */
export function preparedOf(
  envelope: Uint8Array,
  { operation }: PrepareRequest,
  networkPassphrase: string,
): { answer: PreparedRequest; sequence: string } {
  const { prepared, call, sequence } = readPrepared(envelope, networkPassphrase);
  return { answer: { ...prepared, operation: withFilledIn(operation, call) }, sequence };
}

function withFilledIn(operation: Operation, call: ContractCall): PreparedOperation {
  if (operation.kind === "registerAgent") return { ...operation, expiresAt: operation.expiresAt ?? null };
  return operation.kind === "authorize" ? { ...operation, nonce: nonceIn(call)! } : operation;
}

/** An envelope that is not made so soon after its nonce was asked for is not handed out: it could outlive the nonce. */
const LONGEST_PREPARE_MS = 30_000;
/** For so long beyond an envelope's validity its nonce is kept from others: half of it is for clocks that differ. */
export const NONCE_SLACK_MS = 2 * LONGEST_PREPARE_MS;

/** Prepares operations: fills in what was left open, makes room for others, and builds the envelope. */
export function createOperationPreparer({ contracts, clock, transactions, nextNonce, spares, warningOf }: {
  contracts: ContractIds;
  clock: Pick<Clock, "monotonicMs">;
  transactions: Pick<Transactions, "prepare">;
  /** A nonce of an agent for a device that no other envelope has which may still be applied, kept for `NONCE_SLACK_MS` more. */
  nextNonce(deviceHash: string, agent: string): Promise<string>;
  spares: ReservedSlots;
  /** A warning to read before signing. Never rejects. */
  warningOf(source: string, operation: Operation): Promise<string | undefined>;
}): (request: PrepareRequest) => Promise<BuiltRequest> {
  async function prepared(
    source: string,
    operation: PreparedOperation,
    place?: SlotReservation,
  ): Promise<BuiltRequest> {
    const [transaction, warning] = await Promise.all([
      transactions.prepare(source, contractCall(contracts, source, operation), place?.widen),
      warningOf(source, operation),
    ]);
    return { ...transaction, operation, ...(warning === undefined ? {} : { warning }) };
  }

  async function filledIn({ source, operation }: PrepareRequest, place?: SlotReservation): Promise<BuiltRequest> {
    if (operation.kind === "registerAgent") {
      return await prepared(source, { ...operation, expiresAt: operation.expiresAt ?? null });
    }
    if (operation.kind !== "authorize") return await prepared(source, operation, place);
    if (operation.nonce !== undefined) return await prepared(source, { ...operation, nonce: operation.nonce }, place);
    return await withNextNonce(source, operation, place).catch((error) => {
      // Another client may have used a higher nonce in the meantime, so a fresh one is read.
      if (!(error instanceof GatewayError) || error.contractError !== "DuplicateAuth") throw error;
      return withNextNonce(source, operation, place);
    });
  }

  async function withNextNonce(
    source: string,
    operation: Extract<Operation, { kind: "authorize" }>,
    place?: SlotReservation,
  ): Promise<BuiltRequest> {
    const askedAtMs = clock.monotonicMs();
    const nonce = await nextNonce(operation.deviceHash, source);
    const answer = await prepared(source, { ...operation, nonce }, place);
    if (clock.monotonicMs() - askedAtMs <= LONGEST_PREPARE_MS) return answer;
    throw new GatewayError(
      "upstream_error",
      "it took so long to prepare this that its nonce may go to another: try again",
    );
  }

  return async function prepareOperation(request) {
    const place = spares.enter(request.source, request.operation);
    try {
      return await filledIn(request, place);
    } catch (error) {
      place?.withdraw();
      throw error;
    }
  };
}
