import { Address, xdr } from "@stellar/stellar-sdk/base";
import type { RawEvent } from "../stellar/rpc/schemas.ts";
import type { ContractIds } from "./contracts/errors.ts";

export const EVENT_TYPES = [
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
export type EventType = (typeof EVENT_TYPES)[number];

/** A contract's event, with the fields of its type only. */
export interface DecodedEvent {
  type: EventType;
  /** 64 lower-case hex digits. */
  deviceHash?: string;
  agent?: string;
  merchant?: string;
  /** Decimal string of the smallest unit. */
  amount?: string;
}

type EventFields = Omit<DecodedEvent, "type">;

/** One event of a contract: the symbol in its first topic, its type, and how to decode the other topics and the data. */
interface EventShape {
  contract: keyof ContractIds;
  symbol: string;
  type: EventType;
  topics: (topics: xdr.ScVal[]) => EventFields | undefined;
  data: (data: xdr.ScVal) => EventFields | undefined;
}

const SHAPES: EventShape[] = [
  { contract: "deviceRegistry", symbol: "register", type: "device.registered", topics: deviceTopic, data: agentData },
  { contract: "deviceRegistry", symbol: "revoke", type: "device.revoked", topics: deviceTopic, data: noData },
  { contract: "agentRegistry", symbol: "agent_reg", type: "agent.registered", topics: deviceTopic, data: agentData },
  { contract: "agentRegistry", symbol: "agent_rev", type: "agent.revoked", topics: deviceTopic, data: noData },
  { contract: "paymentEscrow", symbol: "fund", type: "escrow.funded", topics: deviceTopic, data: amountData },
  { contract: "paymentEscrow", symbol: "defund", type: "escrow.defunded", topics: deviceTopic, data: amountData },
  { contract: "paymentEscrow", symbol: "sweep", type: "escrow.swept", topics: deviceTopic, data: amountData },
  {
    contract: "paymentEscrow",
    symbol: "authorize",
    type: "payment.authorized",
    topics: paymentTopics,
    data: amountData,
  },
  { contract: "paymentEscrow", symbol: "claim", type: "payment.claimed", topics: merchantTopic, data: amountData },
];

/**
 * Decodes an event of the three contracts; undefined when it is none of the nine, or has another form. Never throws. Also
 * decodes the older deployment's events: `authorize` with one tuple topic, `revoke` and `agent_rev` with void data.
 */
export function decodeEvent(
  event: Pick<RawEvent, "contractId" | "topic" | "value">,
  contracts: ContractIds,
): DecodedEvent | undefined {
  const candidates = SHAPES.filter(({ contract }) => contracts[contract] === event.contractId);
  if (candidates.length === 0) return undefined;
  try {
    const [name, ...topics] = event.topic.map((topic) => xdr.ScVal.fromXdr(topic, "base64"));
    const shape = candidates.find(({ symbol }) => name?.type === "scvSymbol" && name.sym.toString() === symbol);
    if (shape === undefined) return undefined;
    const fromTopics = shape.topics(topics);
    const fromData = shape.data(xdr.ScVal.fromXdr(event.value, "base64"));
    return fromTopics && fromData && { type: shape.type, ...fromTopics, ...fromData };
  } catch {
    // Not XDR: the caller stores such an event raw and counts it.
    return undefined;
  }
}

function deviceTopic(topics: xdr.ScVal[]): EventFields | undefined {
  const deviceHash = hashOf(topics[0]);
  return topics.length === 1 && deviceHash !== undefined ? { deviceHash } : undefined;
}

function merchantTopic(topics: xdr.ScVal[]): EventFields | undefined {
  const merchant = addressOf(topics[0]);
  return topics.length === 1 && merchant !== undefined ? { merchant } : undefined;
}

function paymentTopics(topics: xdr.ScVal[]): EventFields | undefined {
  const [first] = topics;
  const parts = topics.length === 1 && first?.type === "scvVec" ? first.vec ?? [] : topics;
  const [deviceHash, merchant] = [hashOf(parts[0]), addressOf(parts[1])];
  return parts.length === 2 && deviceHash !== undefined && merchant !== undefined
    ? { deviceHash, merchant }
    : undefined;
}

function agentData(data: xdr.ScVal): EventFields | undefined {
  const agent = addressOf(data);
  return agent === undefined ? undefined : { agent };
}

function amountData(data: xdr.ScVal): EventFields | undefined {
  return data.type === "scvI128" ? { amount: String((data.i128.hi << 64n) | data.i128.lo) } : undefined;
}

function noData(data: xdr.ScVal): EventFields | undefined {
  return data.type === "scvVoid" || (data.type === "scvMap" && (data.map ?? []).length === 0) ? {} : undefined;
}

function hashOf(value: xdr.ScVal | undefined): string | undefined {
  if (value?.type !== "scvBytes") return undefined;
  const bytes = value.bytes.toBytes();
  return bytes.length === 32 ? xdr.encodeBytes(bytes, "hex") : undefined;
}

/** `G…` or `C…`; no other kind of address can be a merchant or an agent. */
function addressOf(value: xdr.ScVal | undefined): string | undefined {
  if (value?.type !== "scvAddress") return undefined;
  const { type } = value.address;
  return type === "scAddressTypeAccount" || type === "scAddressTypeContract"
    ? Address.fromScVal(value).toString()
    : undefined;
}
