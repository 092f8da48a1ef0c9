import { xdr } from "@stellar/stellar-sdk/base";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { ContractIds } from "./contracts/errors.ts";
import { OWN_EVENT_TYPES } from "../store/event.ts";
import { asAddress, asHash, asI128 } from "./decode.ts";

/** The types of the contracts' events. */
export const CONTRACT_EVENT_TYPES = [
  "device.registered",
  "device.revoked",
  "agent.registered",
  "agent.revoked",
  "escrow.funded",
  "escrow.defunded",
  "escrow.swept",
  "payment.authorized",
  "payment.claimed",
] as const;
export type ContractEventType = (typeof CONTRACT_EVENT_TYPES)[number];
/** The types of all events of the log. */
export const EVENT_TYPES = [...CONTRACT_EVENT_TYPES, ...OWN_EVENT_TYPES] as const;

/** A contract's event, with the fields of its type only. */
export interface DecodedEvent {
  type: ContractEventType;
  /** 64 lower-case hex digits. */
  deviceHash?: string;
  agent?: string;
  merchant?: string;
  /** Decimal string of the smallest unit. */
  amount?: string;
}

/** One event of a contract: the symbol in its first topic, and the fields in the other topics and in the data. */
interface EventShape {
  contract: keyof ContractIds;
  symbol: string;
  topics: (keyof typeof FIELDS)[];
  data?: keyof typeof FIELDS;
}

const FIELDS = {
  deviceHash: asHash,
  agent: asAddress,
  merchant: asAddress,
  amount: (value: xdr.ScVal) => asI128(value).toString(),
};

const card = (contract: EventShape["contract"], symbol: string, data?: EventShape["data"]): EventShape => {
  return { contract, symbol, topics: ["deviceHash"], data };
};

const SHAPES: Record<ContractEventType, EventShape> = {
  "device.registered": card("deviceRegistry", "register", "agent"),
  "device.revoked": card("deviceRegistry", "revoke"),
  "agent.registered": card("agentRegistry", "agent_reg", "agent"),
  "agent.revoked": card("agentRegistry", "agent_rev"),
  "escrow.funded": card("paymentEscrow", "fund", "amount"),
  "escrow.defunded": card("paymentEscrow", "defund", "amount"),
  "escrow.swept": card("paymentEscrow", "sweep", "amount"),
  "payment.authorized": {
    contract: "paymentEscrow",
    symbol: "authorize",
    topics: ["deviceHash", "merchant"],
    data: "amount",
  },
  "payment.claimed": { contract: "paymentEscrow", symbol: "claim", topics: ["merchant"], data: "amount" },
};

/**
 * Decodes an event of the three contracts; undefined when it is none of the nine, or has another form. Never throws. Also
 * decodes the older deployment's events: `authorize` with one tuple topic, `revoke` and `agent_rev` with void data.
 */
export function decodeEvent(
  event: Pick<RawEvent, "contractId" | "topic" | "value">,
  contracts: ContractIds,
): DecodedEvent | undefined {
  const candidates = CONTRACT_EVENT_TYPES.filter((type) => contracts[SHAPES[type].contract] === event.contractId);
  if (candidates.length === 0) return undefined;
  try {
    const [name, ...topics] = event.topic.map((topic) => xdr.ScVal.fromXdr(topic, "base64"));
    const type = candidates.find((one) => name?.type === "scvSymbol" && name.sym.toString() === SHAPES[one].symbol);
    return type && { type, ...fieldsOf(SHAPES[type], topics, xdr.ScVal.fromXdr(event.value, "base64")) };
  } catch {
    // Not XDR, or another form: the caller stores such an event raw and counts it.
    return undefined;
  }
}

/** @throws {TypeError} for an event of another form */
function fieldsOf({ topics: names, data: name }: EventShape, topics: xdr.ScVal[], data: xdr.ScVal) {
  const [first] = topics;
  const isTuple = names.length > 1 && topics.length === 1 && first!.type === "scvVec";
  const parts = isTuple ? first.vec ?? [] : topics;
  const isEmpty = data.type === "scvVoid" || (data.type === "scvMap" && (data.map ?? []).length === 0);
  if (parts.length !== names.length || (name === undefined && !isEmpty)) {
    throw new TypeError("got other topics or data");
  }
  const fields = names.map((field, index) => [field, FIELDS[field](parts[index]!)]);
  if (name !== undefined) fields.push([name, FIELDS[name](data)]);
  return Object.fromEntries(fields) as Omit<DecodedEvent, "type">;
}
