import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import { type BuiltTransaction, type PreparedTransaction, readPrepared } from "../../stellar/transactions/prepare.ts";
import type { Transactions } from "../../stellar/transactions/transactions.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { callArguments, contractCall, type Operation, operationDigest, type PreparedOperation } from "./operations.ts";
import type { Payable } from "./payable.ts";
import type { ReservedSlots, SlotReservation } from "./reserved_slots.ts";

export interface PrepareRequest {
  /** The acting account, `G…`. */
  source: string;
  operation: Operation;
}

/** An unsigned envelope and its operation. */
export type PreparedRequest = PreparedTransaction & {
  operation: PreparedOperation;
  /** A warning for the signer. */
  warning?: string;
};

/** The same for a new envelope, with `sinceLedger` of `BuiltTransaction`. */
export type BuiltRequest = PreparedRequest & Pick<BuiltTransaction, "sinceLedger">;

/** The answer for a stored envelope of this request, equal to the first answer, and the envelope's sequence number. */
export function preparedOf(
  envelope: Uint8Array,
  { operation }: PrepareRequest,
  { contracts, networkPassphrase }: { contracts: ContractIds; networkPassphrase: string },
): { answer: PreparedRequest; sequence: string } {
  const { prepared, call, sequence } = readPrepared(envelope, networkPassphrase);
  const { nonce } = callArguments(contracts, call)!;
  return { answer: { ...prepared, operation: filledIn(operation, nonce) }, sequence };
}

/** The operation with the fields that the gateway fills in. @param nonce of `authorize`, whatever the request says */
function filledIn(operation: Operation, nonce?: string): PreparedOperation {
  if (operation.kind === "registerAgent") return { ...operation, expiresAt: operation.expiresAt ?? null };
  return operation.kind === "authorize" ? { ...operation, nonce: nonce! } : operation;
}

/** `operationDigest` of a request; the fields that the gateway fills in do not change it. */
export function requestDigest(contracts: ContractIds, { source, operation }: PrepareRequest): string {
  return operationDigest(contractCall(contracts, source, filledIn(operation, "0")));
}

/** The longest time from nonce to envelope. A later envelope could outlive the time for which its nonce is reserved. */
const LONGEST_PREPARE_MS = 30_000;
/** How long a nonce stays reserved after its envelope's validity; half of this allows for different clocks. */
export const NONCE_SLACK_MS = 2 * LONGEST_PREPARE_MS;

/** Prepares operations: fills in missing fields, reserves slots, and builds the envelope. */
export function createOperationPreparer({
  contracts,
  clock,
  transactions,
  nextNonce,
  reservedSlots,
  payable,
  warningOf,
}: {
  contracts: ContractIds;
  clock: Pick<Clock, "monotonicMs">;
  transactions: Pick<Transactions, "prepare">;
  /** A nonce of an agent for a device that no valid envelope has, reserved until `NONCE_SLACK_MS` after the validity. */
  nextNonce(deviceHash: string, agent: string): Promise<string>;
  reservedSlots: ReservedSlots;
  payable: Pick<Payable, "now">;
  /** The warning for the signer. Never rejects. */
  warningOf(source: string, operation: Operation): Promise<string | undefined>;
}): (request: PrepareRequest) => Promise<BuiltRequest> {
  async function prepared(
    source: string,
    operation: PreparedOperation,
    place?: SlotReservation,
  ): Promise<BuiltRequest> {
    const verdict = operation.kind === "authorize" ? payable.now(operation) : undefined;
    // The refusals of the contracts come first.
    verdict?.catch(() => {});
    const [transaction, ofOperation] = await Promise.all([
      transactions.prepare(source, contractCall(contracts, source, operation), place?.widen),
      warningOf(source, operation),
    ]);
    const { refused, warning: ofMerchant } = await verdict ?? {};
    if (refused !== undefined) throw refused;
    const warning = [ofOperation, ofMerchant].filter((one) => one !== undefined).join("; ");
    return { ...transaction, operation, ...(warning === "" ? {} : { warning }) };
  }

  async function build({ source, operation }: PrepareRequest, place?: SlotReservation): Promise<BuiltRequest> {
    if (operation.kind !== "authorize" || operation.nonce !== undefined) {
      return await prepared(source, filledIn(operation, "nonce" in operation ? operation.nonce : undefined), place);
    }
    return await withNextNonce(source, operation, place).catch((error) => {
      // The gateway chose this nonce, and another envelope may have used a higher one since. Retry once with a new one.
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
      "the preparation took so long that another payment may get its nonce; retry",
    );
  }

  return async function prepareOperation(request) {
    const place = reservedSlots.enter(request.source, request.operation);
    try {
      return await build(request, place);
    } catch (error) {
      place?.withdraw();
      throw error;
    }
  };
}
