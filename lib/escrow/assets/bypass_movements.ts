import { setImmediate as yieldToOthers } from "node:timers/promises";
import { createRecentMap } from "../../bounded_map.ts";
import type { EventFilter, LoggedEvent } from "../../store/event.ts";
import type { EventStore } from "../../store/store.ts";
import type { AssetList } from "./asset_list.ts";
import { newestLedgerFirst } from "./escrow_log.ts";
import { afterMovement, ESCROW_MOVEMENTS, heldInOthers, type Holdings } from "./holdings.ts";

/**
 * Why a movement bypassed the gateway.
 * - `not_listed`: its asset is not accepted.
 * - `not_the_policys`: a card was funded in another asset than its policy names.
 * - `not_what_was_funded`: a card was funded in another asset than its escrow held. Or it paid, or paid out, more of an
 *   asset than its escrow held.
 * - `not_what_was_authorized`: a merchant claimed another asset than its payments were authorised in.
 */
export const BYPASS_REASONS = [
  "not_listed",
  "not_the_policys",
  "not_what_was_funded",
  "not_what_was_authorized",
] as const;
export type BypassReason = (typeof BYPASS_REASONS)[number];

export interface BypassMovement {
  event: LoggedEvent & { asset: string };
  because: BypassReason;
}

export interface BypassMovements {
  /** Checks the events since the last check, or joins a check in progress. Rejects when the log cannot be read. */
  look(): Promise<void>;
  /** The number of bypass movements, and the last one. */
  found(): { count: number; last: BypassMovement | undefined };
}

/** How far back the first check goes, so that a restart finds the same movements again. */
export const FIRST_LOOK_EVENTS = 5_000;
const PAGE = 500;
/** More payments than one transaction can claim. */
const MOST_AUTHORIZED = 500;
/** How many earlier movements the first holdings of a card are computed from. */
const MOST_MOVEMENTS = 200;
const LOOKED_AT = ["agent.registered", "agent.revoked", ...ESCROW_MOVEMENTS, "payment.claimed"];
const MOST_CARDS = 10_000;

/**
 * Follows the log for movements in a wrong asset: the contracts accept any asset, and pay it out of one balance for all.
 * Reads the log only. Where the log lacks an asset or a policy, the movement counts as right. Events of other contracts and
 * of former epochs do not count.
 */
export function createBypassMovements({ log, contractIds, assets, onBypass }: {
  log: Pick<EventStore, "bounds" | "read">;
  /** The current contracts; the log also has events of contracts that were watched before. */
  contractIds: readonly string[];
  assets: Pick<AssetList, "has">;
  /** Called with each bypass movement, in the log's order. */
  onBypass(movement: BypassMovement): void;
}): BypassMovements {
  /** The asset of each card's newest policy, by epoch and card; null when the log has none. */
  const policies = createRecentMap<string | null>(MOST_CARDS);
  /** The holdings of each card's escrow, by epoch and card. */
  const held = createRecentMap<Holdings>(MOST_CARDS);
  let looked: number | undefined;
  let looking: Promise<void> | undefined;
  let count = 0;
  let last: BypassMovement | undefined;

  const isOurs = ({ contractId }: LoggedEvent) => contractIds.includes(contractId);

  /**
   * The newest events before this one, newest ledger first, without those of other contracts and epochs. `isLate`: later
   * ledgers have such events too, so the state before this event is not the current one.
   */
  async function before(event: LoggedEvent, filter: EventFilter, limit: number) {
    const read = await log.read({ filter, upTo: event.sequence - 1, order: "desc", limit });
    const ours = read.filter((one) => isOurs(one) && lifeOf(one) === lifeOf(event));
    const found = ours.filter((one) => newestLedgerFirst(event, one) < 0).sort(newestLedgerFirst);
    return { found, isLate: found.length < ours.length };
  }

  /** The asset that the card's policy named before this event. */
  async function policyAsset(event: LoggedEvent): Promise<string | null> {
    const { deviceHash } = event;
    if (deviceHash === undefined) return null;
    const known = policies.get(keyOf(event));
    if (known !== undefined) return known;
    const { found, isLate } = await before(event, { types: ["agent.registered", "agent.revoked"], deviceHash }, 1);
    const asset = found[0]?.asset ?? null;
    if (!isLate) policies.set(keyOf(event), asset);
    return asset;
  }

  /** The holdings of the card's escrow before this event, as far as the log has them. */
  async function heldBefore(event: LoggedEvent): Promise<{ holdings: Holdings; isLate: boolean }> {
    const known = held.get(keyOf(event));
    if (known !== undefined) return { holdings: known, isLate: false };
    const filter = { types: ESCROW_MOVEMENTS, deviceHash: event.deviceHash };
    const { found, isLate } = await before(event, filter, MOST_MOVEMENTS);
    const none: Holdings = new Map();
    return { holdings: found.reduceRight((holdings, one) => afterMovement(holdings, one).holdings, none), isLate };
  }

  /** Whether a movement adds a second asset to an escrow, or takes out another asset than is there. Records the movement. */
  async function isOfAnother(event: LoggedEvent): Promise<boolean> {
    const { type, deviceHash, asset } = event;
    if (deviceHash === undefined) return false;
    const { holdings, isLate } = await heldBefore(event);
    const { holdings: after, foreign } = afterMovement(holdings, event);
    if (!isLate) held.set(keyOf(event), after);
    if (type !== "escrow.funded") return foreign > 0n;
    return asset !== undefined && heldInOthers(holdings, asset).length > 0;
  }

  /** The assets of the payments that a claim collected: all authorised for the merchant since the claim before. */
  async function authorizedAssets(event: LoggedEvent): Promise<string[]> {
    const filter = { types: ["payment.authorized", "payment.claimed"], merchant: event.merchant };
    const { found } = await before(event, filter, MOST_AUTHORIZED);
    const claimed = found.findIndex(({ type }) => type === "payment.claimed");
    return found.slice(0, claimed === -1 ? undefined : claimed).flatMap(({ asset }) => asset ?? []);
  }

  async function reasonOf(event: LoggedEvent & { asset: string }): Promise<BypassReason | undefined> {
    const { asset, type } = event;
    if (type === "payment.claimed") {
      if (!assets.has(asset)) return "not_listed";
      return (await authorizedAssets(event)).some((one) => one !== asset) ? "not_what_was_authorized" : undefined;
    }
    const policy = type === "escrow.funded" ? await policyAsset(event) : null;
    const ofAnother = await isOfAnother(event);
    if (!assets.has(asset)) return "not_listed";
    if (policy !== null && policy !== asset) return "not_the_policys";
    return ofAnother ? "not_what_was_funded" : undefined;
  }

  async function lookAt(event: LoggedEvent): Promise<void> {
    const { asset, deviceHash, type } = event;
    if (type === "agent.registered" || type === "agent.revoked") {
      if (deviceHash !== undefined) policies.set(keyOf(event), asset ?? null);
      return;
    }
    if (asset === undefined) return void await isOfAnother(event);
    const because = await reasonOf({ ...event, asset });
    if (because === undefined) return;
    count += 1;
    last = { event: { ...event, asset }, because };
    onBypass(last);
  }

  async function lookOn(): Promise<void> {
    const { last: upTo } = await log.bounds();
    looked ??= Math.max(0, upTo - FIRST_LOOK_EVENTS);
    while (looked < upTo) {
      const events = await log.read({ filter: { types: LOOKED_AT }, after: looked, upTo, order: "asc", limit: PAGE });
      for (const event of events) {
        if (isOurs(event)) await lookAt(event);
        // Reading the events before this one keeps a store without its own thread busy for some milliseconds.
        await yieldToOthers();
        // Set before the next read: if that read fails, the next check does not count this event twice.
        looked = event.sequence;
      }
      if (events.length < PAGE) looked = upTo;
    }
  }

  return {
    look() {
      looking ??= lookOn().finally(() => looking = undefined);
      return looking;
    },
    found: () => ({ count, last }),
  };
}

/** The epoch's part of an event's id: all before the node's own 30 characters. */
function lifeOf({ id }: Pick<LoggedEvent, "id">): string {
  return id.slice(0, -30);
}

/** The key of a card in one epoch. */
function keyOf(event: LoggedEvent): string {
  return `${lifeOf(event)} ${event.deviceHash}`;
}
