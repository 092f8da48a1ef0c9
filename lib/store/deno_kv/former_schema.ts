import type { KvKey } from "../../runtime/kv.ts";
import { next } from "./io.ts";

/**
 * What a store of schema 2 holds that is kept elsewhere or otherwise now; one of schema 1 is the same without webhooks.
 * A position is where an event stands in the whole history, as text that sorts: four digits of the epoch, a slash, the
 * RPC's event id.
 */

export const FORMER_WATCHER: KvKey = ["watcher"];
export interface FormerWatcherState {
  epoch: number;
  /** Comma-separated. */
  contractIds: string;
  oldestLedger: number;
  scannedLedger: number;
  latestLedgerCloseTime: number;
  latestLedger: number;
  rpcCursor?: string;
}

export interface FormerGap {
  epoch: number;
  fromLedger: number;
  toLedger: number;
  noticedAt: string;
}

/** An event, under `["event", position]` when it is decoded. */
export interface FormerEvent {
  position: string;
  id: string;
  type: string | null;
  contractId: string;
  ledger: number;
  ledgerClosedAt: string;
  txHash: string;
  deviceHash?: string;
  agent?: string;
  merchant?: string;
  amount?: string;
}
export const formerEventKey = (position: string): KvKey => ["event", position];

export function formerIndexKeys({ type, deviceHash, merchant, position }: FormerEvent): KvKey[] {
  const keys: KvKey[] = [["event_by_type", type!, position]];
  if (deviceHash !== undefined) keys.push(["event_by_device", deviceHash, type!, position]);
  if (merchant !== undefined) keys.push(["event_by_merchant", merchant, type!, position]);
  if (deviceHash !== undefined && merchant !== undefined) {
    keys.push(["event_by_device_and_merchant", deviceHash, merchant, type!, position]);
  }
  return keys;
}

export const formerUndecodedKey = (position: string): KvKey => ["undecoded", position];
export const formerRawKey = (position: string): KvKey => ["undecoded_raw", position];
/** An event that fan-out has to hand on beside its cursor: the last subscription that got it. */
export const formerLateKey = (position: string): KvKey => ["late", position];

/** The last event that was forgotten; some before it may be held. */
export const FORMER_PRUNED: KvKey = ["pruned"];

export const FORMER_FAN_OUT: KvKey = ["fan_out"];
/** All subscriptions got the events before `position`, and those up to `subscriptionId` (absent: all) that one. */
export interface FormerFanOut {
  position: string;
  subscriptionId?: string;
}

/** A delivery, pending or (due at no time) dead; a pending one is there once it is listed as due. */
export interface FormerDelivery {
  position: string;
  attempts: number;
  dueAtMs: number | null;
  createdAtMs: number;
}
export const formerDueKey = (subscriptionId: string, { dueAtMs, position }: FormerDelivery, id: string): KvKey => [
  "due",
  subscriptionId,
  dueAtMs!,
  position,
  id,
];
export const formerCreationKey = (subscriptionId: string, { createdAtMs }: FormerDelivery, id: string): KvKey => [
  "created",
  subscriptionId,
  createdAtMs,
  id,
];

export interface FormerAttempt {
  id: string;
  subscriptionId: string;
  /** Ends with `:` and a replay's id for one of a replay; null: a test event's. */
  deliveryId: string | null;
  eventId: string;
  eventType: string;
  number: number;
  atMs: number;
  durationMs: number;
  outcome: "delivered" | "retry" | "ended" | "dead";
  statusCode: number | null;
  error: string | null;
  responseBody: string | null;
  nextAttemptAtMs: number | null;
}
export const formerAttemptTimeKey = ({ atMs, subscriptionId, id }: FormerAttempt): KvKey => [
  "attempt_by_time",
  atMs,
  subscriptionId,
  id,
];

export interface FormerReplay {
  id: string;
  subscriptionId: string;
  /** Exclusive. */
  afterPosition: string;
  /** Inclusive. */
  upToPosition: string;
  position: string;
  deliveries: number;
  createdAtMs: number;
}
export const formerReplayKey = (id: string): KvKey => ["replay", id];
export const formerReplayOfKey = (subscriptionId: string): KvKey => ["replay_of", subscriptionId];

/** Prefixes under which there is nothing any more. */
export const FORMER_PREFIXES = [
  "attempt_by_time",
  "created",
  "dead",
  "delivery",
  "event_by_device",
  "event_by_device_and_merchant",
  "event_by_merchant",
  "event_by_type",
  "event_type",
  "fan_out",
  "gap",
  "late_step",
  "lease",
  "owed",
  "pending",
  "pruned",
  "replay",
  "replay_by_time",
  "replay_of",
  "replays_version",
  "wake",
];

/** Under these there are others now: keys of then go on with a text, keys of now with a number. */
export const SHARED_PREFIXES = ["event", "late", "undecoded", "undecoded_raw"];

/** The keys of then under a prefix, after this text. */
export function formerRange(prefix: string, after = ""): { start: KvKey; end: KvKey } {
  return { start: [prefix, next(after)], end: [prefix, -Infinity] };
}

const POSITION = /^(\d{4})\/(\d{19})-\d{10}$/;

/** The id of the event at this position. */
export function idAt(position: string): string {
  const [epoch, rpcId] = [Number(position.slice(0, 4)), position.slice(5)];
  return epoch === 0 ? rpcId : `${epoch}-${rpcId}`;
}

/** The position of the event with this id. */
export function positionOf(id: string): string {
  const [rpcId, epoch] = [id.slice(-30), id.slice(0, -31)];
  return `${epoch.padStart(4, "0")}/${rpcId}`;
}

/** Epoch and ledger of a position. Throws for anything else: such text never came from outside. */
export function placeOf(position: string): { epoch: number; ledger: number } {
  const [, epoch, toid] = POSITION.exec(position) ?? [];
  if (toid === undefined) throw new Error(`not a position: ${JSON.stringify(position)}`);
  return { epoch: Number(epoch), ledger: Number(BigInt(toid) >> 32n) };
}

/** Whether it is the last possible position of its ledger, which no event has. */
export function isEndOfLedger(position: string): boolean {
  const [, , toid] = POSITION.exec(position) ?? [];
  return toid !== undefined && BigInt(toid) % (1n << 32n) === 0xffff_ffffn;
}
