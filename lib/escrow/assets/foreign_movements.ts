import { createRecentMap } from "../../bounded_map.ts";
import type { AssetList } from "./asset_list.ts";

/**
 * Why a movement is foreign. `not_listed`: its asset is none of those dealt in. `not_the_policys`: a card was funded in
 * another asset than its policy names. `not_what_was_funded`: a card paid, or was paid out, in another asset than it was
 * funded in. `not_what_was_authorized`: a merchant claimed another asset than the payments were authorised in.
 */
export const FOREIGN_BECAUSE = [
  "not_listed",
  "not_the_policys",
  "not_what_was_funded",
  "not_what_was_authorized",
] as const;
export type ForeignBecause = (typeof FOREIGN_BECAUSE)[number];

/** An event of the log, as far as it is looked at here. */
export interface MovementEvent {
  sequence: number;
  id: string;
  type: string;
  ledger: number;
  deviceHash?: string;
  merchant?: string;
  asset?: string;
}

export interface ForeignMovement {
  event: MovementEvent & { asset: string };
  because: ForeignBecause;
}

/** What the log is asked. Everything in the order of sequences. */
export interface MovementLog {
  bounds(): Promise<{ last: number }>;
  read(query: {
    filter: { types: string[]; deviceHash?: string; merchant?: string };
    /** Exclusive. */
    after?: number;
    /** Inclusive. */
    upTo?: number;
    order: "asc" | "desc";
    limit: number;
  }): Promise<MovementEvent[]>;
}

export interface ForeignMovements {
  /** Looks at what the log holds since the last look. Joins a look that is under way. Rejects when the log can't be read. */
  look(): Promise<void>;
  /** How many were found, and the last one. */
  found(): { count: number; last: ForeignMovement | undefined };
}

/** How far back the first look goes: what was found before a restart is found again. */
const FIRST_LOOK_EVENTS = 5_000;
const PAGE = 500;
/** More than one transaction can claim. */
const MOST_AUTHORIZED = 500;
const LOOKED_AT = [
  "agent.registered",
  "agent.revoked",
  "escrow.funded",
  "escrow.defunded",
  "escrow.swept",
  "payment.authorized",
  "payment.claimed",
];
const MOST_CARDS = 10_000;

/**
 * Follows the log for movements in an asset that they should not be in: the contracts take any, and pay it out of the one
 * balance that they keep for all. Asks nobody but the log. What the log does not say (an asset that was not learnt, a policy
 * from before it) is not held against a movement.
 */
export function createForeignMovements({ log, assets, onForeign }: {
  log: MovementLog;
  assets: Pick<AssetList, "has">;
  /** Told of each as it is found, in the log's order. */
  onForeign(movement: ForeignMovement): void;
}): ForeignMovements {
  /** By card, what the newest event of these types names that was looked at; null: the log does not know, or nothing. */
  const policies = createRecentMap<string | null>(MOST_CARDS);
  const funded = createRecentMap<string | null>(MOST_CARDS);
  let looked: number | undefined;
  let looking: Promise<void> | undefined;
  let count = 0;
  let last: ForeignMovement | undefined;

  /** What the newest event of these types before this one names. */
  async function named(
    known: typeof policies,
    types: string[],
    { deviceHash, sequence }: MovementEvent,
  ): Promise<string | null> {
    if (deviceHash === undefined) return null;
    const held = known.get(deviceHash);
    if (held !== undefined) return held;
    const [before] = await log.read({ filter: { types, deviceHash }, upTo: sequence - 1, order: "desc", limit: 1 });
    const asset = before?.asset ?? null;
    known.set(deviceHash, asset);
    return asset;
  }

  /** The assets of what a claim collected: all that was authorised for the merchant since the claim before. */
  async function authorizedAssets({ merchant, sequence }: MovementEvent): Promise<string[]> {
    const before = await log.read({
      filter: { types: ["payment.authorized", "payment.claimed"], merchant },
      upTo: sequence - 1,
      order: "desc",
      limit: MOST_AUTHORIZED,
    });
    const claimed = before.findIndex(({ type }) => type === "payment.claimed");
    return before.slice(0, claimed === -1 ? undefined : claimed).flatMap(({ asset }) => asset ?? []);
  }

  async function foreign(event: MovementEvent & { asset: string }): Promise<ForeignBecause | undefined> {
    const { asset, type } = event;
    if (!assets.has(asset)) return "not_listed";
    if (type === "payment.claimed") {
      return (await authorizedAssets(event)).some((one) => one !== asset) ? "not_what_was_authorized" : undefined;
    }
    const isFunding = type === "escrow.funded";
    const expected = isFunding
      ? await named(policies, ["agent.registered", "agent.revoked"], event)
      : await named(funded, ["escrow.funded"], event);
    if (expected === null || expected === asset) return undefined;
    return isFunding ? "not_the_policys" : "not_what_was_funded";
  }

  async function lookAt(event: MovementEvent): Promise<void> {
    const { asset, deviceHash, type } = event;
    if (type === "agent.registered" || type === "agent.revoked") {
      if (deviceHash !== undefined) policies.set(deviceHash, asset ?? null);
      return;
    }
    const because = asset === undefined ? undefined : await foreign({ ...event, asset });
    if (type === "escrow.funded" && deviceHash !== undefined) funded.set(deviceHash, asset ?? null);
    if (asset === undefined || because === undefined) return;
    count += 1;
    last = { event: { ...event, asset }, because };
    onForeign(last);
  }

  async function lookOn(): Promise<void> {
    const { last: upTo } = await log.bounds();
    looked ??= Math.max(0, upTo - FIRST_LOOK_EVENTS);
    while (looked < upTo) {
      const events = await log.read({ filter: { types: LOOKED_AT }, after: looked, upTo, order: "asc", limit: PAGE });
      for (const event of events) await lookAt(event);
      looked = events.length < PAGE ? upTo : events.at(-1)!.sequence;
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
