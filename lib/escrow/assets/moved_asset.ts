import { StrKey, xdr } from "@stellar/stellar-sdk/base";
import type { ContractCall } from "../../stellar/transactions/contract_call.ts";
import { calledIn } from "../../stellar/transactions/envelope.ts";
import { calledDuring, contractEvents } from "../../stellar/transactions/results.ts";
import type { AppliedTransaction } from "../../stellar/rpc/schemas.ts";
import type { ContractIds } from "../contracts/errors.ts";
import { asAddress, asHash, asI128 } from "../decode.ts";
import type { DecodedEvent } from "../events.ts";

/** The call that emits an event, and the positions of asset, card, merchant and amount among its arguments. */
interface Source {
  contract: keyof ContractIds;
  function: string;
  asset: number;
  deviceHash?: number;
  merchant?: number;
  amount?: number;
}

const SOURCES: Partial<Record<DecodedEvent["type"], Source>> = {
  "agent.registered": { contract: "agentRegistry", function: "register_agent", asset: 4, deviceHash: 1 },
  "escrow.funded": { contract: "paymentEscrow", function: "fund_escrow", asset: 0, deviceHash: 2, amount: 3 },
  "escrow.defunded": { contract: "paymentEscrow", function: "defund_escrow", asset: 0, deviceHash: 1, amount: 2 },
  "escrow.swept": { contract: "paymentEscrow", function: "sweep_on_revoke", asset: 0, deviceHash: 1 },
  "payment.authorized": {
    contract: "paymentEscrow",
    function: "authorize",
    asset: 3,
    deviceHash: 1,
    merchant: 2,
    amount: 4,
  },
  "payment.claimed": { contract: "paymentEscrow", function: "claim", asset: 0, merchant: 1 },
};

/** Whether an event of this type has an asset: every movement, and the registration of an agent with its policy. */
export function speaksOfAsset({ type }: { type: string }): boolean {
  return Object.hasOwn(SOURCES, type);
}

/**
 * The asset contract of an event, from its transaction. Takes it from the arguments of the envelope's call. If another
 * contract made the call, takes it from the call that the host recorded, or from the token's own event. Signed authorisations
 * are no source, because they may be for calls that were not made. Undefined when none or several assets are found.
 */
export function movedAsset(
  event: Pick<DecodedEvent, "deviceHash" | "merchant" | "amount"> & { type: string },
  transaction: AppliedTransaction,
  contracts: ContractIds,
): string | undefined {
  const source = SOURCES[event.type as DecodedEvent["type"]];
  if (source === undefined) return undefined;
  try {
    const called = transaction.envelopeXdr === undefined ? undefined : calledIn(transaction.envelopeXdr);
    if (called !== undefined && isCallOf(source, event, called, contracts)) {
      return asAddress(called.args[source.asset]!);
    }
    const recorded = calledDuring(transaction).filter((call) => isCallOf(source, event, call, contracts));
    if (recorded.length > 0) return theOnly(recorded.map(({ args }) => asAddress(args[source.asset]!)));
    return theOnly(contractEvents(transaction).flatMap((one) => tokenMoved(one, event, contracts.paymentEscrow) ?? []));
  } catch {
    // Invalid XDR, or arguments of other types: the asset stays unknown.
    return undefined;
  }
}

function isCallOf(
  source: Source,
  event: Pick<DecodedEvent, "deviceHash" | "merchant" | "amount">,
  { contract, function: name, args }: ContractCall,
  contracts: ContractIds,
): boolean {
  if (contract !== contracts[source.contract] || name !== source.function) return false;
  const says = (at: number | undefined, read: (value: xdr.ScVal) => unknown, said: unknown) =>
    at === undefined || (args[at] !== undefined && read(args[at]) === said);
  return says(source.deviceHash, asHash, event.deviceHash) && says(source.merchant, asAddress, event.merchant) &&
    says(source.amount, (value) => asI128(value).toString(), event.amount);
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
  if (end?.type !== "scvAddress" || asAddress(end) !== paymentEscrow) return undefined;
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
