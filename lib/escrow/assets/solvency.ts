import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { EventStore, Store, WatcherState } from "../../store/store.ts";
import type { AssetList } from "./asset_list.ts";
import type { Held, HeldReader } from "./held.ts";
import { UNKNOWN_ASSET } from "./holdings.ts";
import { MOST_ASSETS, MOVEMENTS, nothingOwed, type Owed, owedAfter } from "./owed.ts";

/**
 * Why it is not known what the escrow owes.
 * - `gap`: the history has a gap.
 * - `begins_later`: the history begins after the contract, or retention deleted its beginning.
 * - `asset_unknown`: the log does not know in which asset the escrow paid out.
 */
export const UNKNOWN_REASONS = ["gap", "begins_later", "asset_unknown"] as const;

/** Amounts are decimal strings of the smallest unit. Null: not known. */
export interface AssetSolvency {
  asset: string;
  /** The contract's balance. */
  held: string | null;
  owed: string | null;
  /** By how much the held amount is below the owed one. */
  missing: string | null;
  /** The issuer has frozen the contract's balance. */
  frozen: boolean;
}

/** The amounts that the escrow holds and owes, as of one ledger. */
export interface Solvency {
  ledger: number;
  unknownBecause: (typeof UNKNOWN_REASONS)[number] | null;
  assets: AssetSolvency[];
}

export interface SolvencyParts {
  log: Pick<EventStore, "watcherState" | "bounds" | "before" | "read">;
  sharedState: Pick<Store["sharedState"], "read" | "change">;
  paymentEscrow: string;
  assets: Pick<AssetList, "ids">;
  held: HeldReader;
  monotonicMs(): number;
}

/** The value that the gateways on a store share. */
interface Stored {
  owed: Owed;
  last?: Solvency;
}

const EVERY_MS = 600_000;
const EVERY_IN_TROUBLE_MS = 60_000;
const AFTER_FAILURE_MS = 10_000;
/** The pages of events that one look reads. The next look continues. */
const MOST_PAGES = 20;
const KEPT_MS = 10 * 365 * 86_400_000;

const nameOf = (paymentEscrow: string) => `solvency/${paymentEscrow}`;

/** The last comparison of the gateways on this store; undefined before the first one. */
export async function lastSolvency(
  sharedState: Pick<Store["sharedState"], "read">,
  paymentEscrow: string,
): Promise<Solvency | undefined> {
  return (await sharedState.read<Stored>(nameOf(paymentEscrow)))?.last;
}

export function isTrouble({ missing, frozen }: AssetSolvency): boolean {
  return frozen || (missing !== null && missing !== "0");
}

/**
 * Compares what the escrow holds with what it owes: at the first look, after movements and every ten minutes. More held than
 * owed is no trouble. An event that a node shows late may make an amount missing until the watcher finds it.
 */
export function createSolvency(parts: SolvencyParts): () => Promise<Solvency | undefined> {
  const { log, sharedState, paymentEscrow, assets, monotonicMs } = parts;
  const name = nameOf(paymentEscrow);
  let dueAtMs = -Infinity;
  let restsUntilMs = -Infinity;
  let looking: Promise<Solvency | undefined> | undefined;

  async function isDue({ owed: { sequence }, last }: Stored, isGap: boolean): Promise<boolean> {
    if (last === undefined || monotonicMs() >= dueAtMs || isGap !== (last.unknownBecause === "gap")) return true;
    if (isGap) return false;
    return (await log.read({ filter: { types: MOVEMENTS }, after: sequence, order: "asc", limit: 1 })).length > 0;
  }

  /** Writes the next value, unless another gateway was faster. */
  function write(before: Stored, next: Stored): Promise<boolean> {
    return sharedState.change<Stored, boolean>(name, (stored) => {
      const { epoch, sequence } = stored?.owed ?? { epoch: -1, sequence: -1 };
      const isSame = stored === undefined || epoch < before.owed.epoch ||
        (epoch === before.owed.epoch && sequence === before.owed.sequence);
      return isSame ? { value: next, keepMs: KEPT_MS, answer: true } : { keepMs: 0, answer: false };
    });
  }

  /** Counts the events up to this ledger. Undefined when more are left, or when another gateway counts them. */
  async function countUpTo(ledger: number, stored: Stored): Promise<Stored | undefined> {
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const { owed, isAll } = await owedAfter(log, paymentEscrow, stored.owed, ledger);
      const next = { ...stored, owed };
      if (owed.sequence !== stored.owed.sequence && !await write(stored, next)) return undefined;
      stored = next;
      if (isAll) return stored;
    }
    return undefined;
  }

  function reasonOf(
    { owed: { isCut, amounts } }: Stored,
    state: WatcherState,
    instance: RawLedgerEntry | undefined,
  ): Solvency["unknownBecause"] {
    if (hasGap(state, paymentEscrow)) return "gap";
    const begunIn = state.contracts[paymentEscrow]?.fromLedger ?? Infinity;
    const { [UNKNOWN_ASSET]: ofUnknown = "0", ...ofKnown } = amounts;
    const isMore = Object.values(ofKnown).some((amount) => amount.startsWith("-"));
    if (isCut || isMore || (instance?.lastModifiedLedgerSeq ?? 0) < begunIn) return "begins_later";
    return ofUnknown.startsWith("-") ? "asset_unknown" : null;
  }

  async function compare(): Promise<Solvency | undefined> {
    const begun = await log.watcherState();
    if (begun === undefined) return undefined;
    const { epoch, scannedLedger } = begun;
    const isGap = hasGap(begun, paymentEscrow);
    let stored = await sharedState.read<Stored>(name);
    if (stored?.owed.epoch !== epoch) stored = { owed: await nothingOwed(log, epoch) };
    const { last } = stored;
    if (!await isDue(stored, isGap)) return last;
    // If this one fails, the movement is counted already, and the next look must compare all the same.
    dueAtMs = -Infinity;
    let counted = isGap ? stored : await countUpTo(scannedLedger, stored);
    if (counted === undefined) return last;
    const ids = assets.ids ?? Object.keys(counted.owed.amounts).filter((asset) => asset !== UNKNOWN_ASSET);
    const { ledger, instance, held } = await parts.held(ids);
    const state = await log.watcherState();
    // A ledger closed meanwhile. The next look compares again.
    if (state?.epoch !== epoch || state.scannedLedger < ledger) return last;
    if (!isGap) counted = await countUpTo(ledger, counted);
    if (counted === undefined || counted.owed.ledger > ledger) return last;
    const unknownBecause = reasonOf(counted, state, instance);
    const { amounts } = counted.owed;
    const unseen = Object.keys(amounts).length < MOST_ASSETS ? "0" : undefined;
    const compared: Solvency = {
      ledger,
      unknownBecause,
      assets: ids.map((asset, at) => {
        return solvencyOf(asset, held[at]!, unknownBecause === null ? amounts[asset] ?? unseen : undefined);
      }),
    };
    if (!await write(counted, { ...counted, last: compared })) return last;
    dueAtMs = monotonicMs() + (compared.assets.some(isTrouble) ? EVERY_IN_TROUBLE_MS : EVERY_MS);
    return compared;
  }

  return function look() {
    if (looking === undefined && monotonicMs() < restsUntilMs) return Promise.resolve(undefined);
    looking ??= compare().catch((error) => {
      restsUntilMs = monotonicMs() + AFTER_FAILURE_MS;
      throw error;
    }).finally(() => looking = undefined);
    return looking;
  };
}

function hasGap({ gaps, epoch }: WatcherState, contract: string): boolean {
  return gaps.some((gap) => gap.epoch === epoch && gap.contractIds.includes(contract));
}

function solvencyOf(asset: string, { amount: held, frozen }: Held, owed: string | undefined): AssetSolvency {
  const missing = held === null || owed === undefined ? null : BigInt(owed) - held;
  return {
    asset,
    held: held === null ? null : `${held}`,
    owed: owed ?? null,
    missing: missing === null ? null : `${missing > 0n ? missing : 0n}`,
    frozen,
  };
}
