import { GatewayError } from "../../errors.ts";
import type { EntryReader } from "../../stellar/entries.ts";
import type { RawLedgerEntry } from "../../stellar/rpc/schemas.ts";
import type { ContractCalls } from "../../stellar/transactions/contract_call.ts";
import type { EventStore, Store, WatcherState } from "../../store/store.ts";
import { asI128, returnedValue } from "../decode.ts";
import { addressVal, assetBalanceKey, instanceKey } from "../reads/storage_keys.ts";
import { assetBalance } from "./asset_balance.ts";
import type { AssetList } from "./asset_list.ts";
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
  entries: EntryReader;
  calls: ContractCalls;
  /** Resolves when the log has all events up to this ledger. */
  reaches(ledger: number): Promise<void>;
  monotonicMs(): number;
}

/** The value that the gateways on a store share. */
interface Stored {
  owed: Owed;
  last?: Solvency;
}

interface Held {
  amount: bigint | null;
  frozen: boolean;
  /** Of a simulation. */
  ledger?: number;
}

const EVERY_MS = 600_000;
const EVERY_IN_TROUBLE_MS = 60_000;
const AFTER_FAILURE_MS = 10_000;
/** The pages of events that one look reads. The next look continues. */
const MOST_PAGES = 20;
const TRIES = 3;
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
  const { log, sharedState, paymentEscrow, assets, entries, calls, reaches, monotonicMs } = parts;
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

  /** All as of one ledger. */
  async function readHeld(ids: readonly string[]) {
    const keys = [instanceKey(paymentEscrow), ...ids.map((id) => assetBalanceKey(id, paymentEscrow))];
    for (let tried = 0; tried < TRIES; tried += 1) {
      const { ledger, entries: [instance, ...balances] } = await entries.read(keys, { fresh: true });
      const held = await Promise.all(ids.map((id, at) => heldBy(balances[at]) ?? simulated(id)));
      if (held.every((one) => one.ledger === undefined || one.ledger === ledger)) return { ledger, instance, held };
    }
    throw new GatewayError("upstream_error", "the escrow's balances could not be read as of one ledger");
  }

  /** A token that is no asset contract may keep anything in its entry. An archived entry is absent. */
  async function simulated(asset: string): Promise<Held> {
    const call = { contract: asset, function: "balance", args: [addressVal(paymentEscrow)] };
    const { error, results, latestLedger: ledger } = await calls.simulate(call);
    if (error !== undefined || results?.[0] === undefined) return { amount: null, frozen: false };
    try {
      return { amount: returnedValue(results[0].xdr, asI128), frozen: false, ledger };
    } catch {
      return { amount: null, frozen: false };
    }
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
    const { ledger, instance, held } = await readHeld(ids);
    await reaches(ledger);
    if (!isGap) counted = await countUpTo(ledger, counted);
    const state = await log.watcherState();
    if (counted === undefined || counted.owed.ledger > ledger || state?.epoch !== epoch) return last;
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

/** Undefined for an entry that has not an asset contract's form. */
function heldBy(entry: RawLedgerEntry | undefined): Held | undefined {
  try {
    const balance = assetBalance(entry);
    return balance && { amount: balance.amount, frozen: !balance.authorized };
  } catch {
    return undefined;
  }
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
