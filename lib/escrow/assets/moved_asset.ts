import { Address, StrKey, xdr } from "@stellar/stellar-sdk/base";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import { calledIn } from "../../stellar/transactions/envelope.ts";
import { calledDuring, contractEvents } from "../../stellar/transactions/results.ts";
import type { AppliedTransaction } from "../../stellar/rpc/schemas.ts";
import type { ContractIds } from "../contracts/errors.ts";
import type { OperationKind } from "../contracts/interfaces.ts";
import { asI128 } from "../decode.ts";
import type { DecodedEvent } from "../events.ts";
import { type CallArguments, callArguments, operationKind } from "../operations/operations.ts";

/** The operation whose call emits an event. */
const OPERATIONS: Partial<Record<string, OperationKind>> = {
  "agent.registered": "registerAgent",
  "escrow.funded": "fundEscrow",
  "escrow.defunded": "defundEscrow",
  "escrow.swept": "sweepEscrow",
  "payment.authorized": "authorize",
  "payment.claimed": "claim",
} satisfies Partial<Record<DecodedEvent["type"], OperationKind>>;

type MovementFields = Pick<DecodedEvent, "deviceHash" | "merchant" | "amount"> & { type: string };

/** Whether an event of this type has an asset: every movement, and the registration of an agent with its policy. */
export function speaksOfAsset({ type }: { type: string }): boolean {
  return Object.hasOwn(OPERATIONS, type);
}

/**
 * The asset contract of an event, from its transaction. Takes it from the arguments of the envelope's call. If another
 * contract made the call, takes it from the call that the host recorded, or from the token's own event. Signed authorisations
 * are no source, because they may be for calls that were not made. Undefined when none or several assets are found.
 */
export function movedAsset(
  event: MovementFields,
  transaction: AppliedTransaction,
  contracts: ContractIds,
): string | undefined {
  if (!speaksOfAsset(event)) return undefined;
  try {
    const called = calledFor(event, transaction, contracts).map(({ asset }) => asset!);
    if (called.length > 0) return theOnly(called);
    return theOnly(contractEvents(transaction).flatMap((one) => tokenMoved(one, event, contracts.paymentEscrow) ?? []));
  } catch {
    // Invalid XDR: the asset stays unknown.
    return undefined;
  }
}

/**
 * The arguments of the calls that may have emitted an event: of the envelope's call, else of those that the host recorded.
 * @throws {Error} for invalid XDR
 */
export function calledFor(
  event: MovementFields,
  transaction: AppliedTransaction,
  contracts: ContractIds,
): CallArguments[] {
  const called = transaction.envelopeXdr === undefined ? undefined : calledIn(transaction.envelopeXdr);
  const emits = (call: ContractCall) => argumentsFor(call, event, contracts) ?? [];
  const own = called === undefined ? [] : [emits(called)].flat();
  return own.length > 0 ? own : calledDuring(transaction).flatMap(emits);
}

/** The arguments of a call, undefined unless it emits this event. */
function argumentsFor(call: ContractCall, event: MovementFields, contracts: ContractIds): CallArguments | undefined {
  if (operationKind(contracts, call) !== OPERATIONS[event.type]) return undefined;
  const given = callArguments(contracts, call) ?? {};
  const { asset, source, merchant = source, deviceHash, amount } = given;
  const isSame = (said: string | undefined, by: string | undefined) =>
    said === undefined || by === undefined || said === by;
  const isOne = isSame(event.deviceHash, deviceHash) && isSame(event.merchant, merchant) &&
    isSame(event.amount, amount);
  return isOne && asset !== undefined ? given : undefined;
}

/** The token whose `transfer` event (SEP-41) moved this amount into or out of the escrow contract. */
function tokenMoved(
  event: xdr.ContractEvent,
  { type, amount }: { type?: string; amount?: string },
  paymentEscrow: string,
): string | undefined {
  const [name, from, to] = event.body.v0.topics;
  if (event.contractId === null || name?.type !== "scvSymbol" || name.sym.toString() !== "transfer") return undefined;
  const end = type === "escrow.funded" ? to : type === "payment.authorized" ? undefined : from;
  if (end?.type !== "scvAddress" || Address.fromScVal(end).toString() !== paymentEscrow) return undefined;
  const { data } = event.body.v0;
  // With a muxed destination the amount is in a map (CAP-67).
  const value = data.type === "scvMap" ? data.map?.find(({ key }) => nameOf(key) === "amount")?.val : data;
  if (value?.type !== "scvI128" || asI128(value).toString() !== amount) return undefined;
  return StrKey.encodeContract(event.contractId.toBytes());
}

function nameOf(key: xdr.ScVal): string {
  return key.type === "scvSymbol" ? key.sym.toString() : "";
}

function theOnly(assets: string[]): string | undefined {
  const different = [...new Set(assets)];
  return different.length === 1 ? different[0] : undefined;
}
