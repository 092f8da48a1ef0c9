/*
 * Decides whether the network is still the one of the log, by hashes of its ledgers. `events/reset_watch.ts` decides
 * when to compare and applies the finding.
 */

import type { Clock } from "../clock.ts";
import type { Checkpoint } from "../ledger_numbers.ts";
import { type Answer, isPlausibleAfter, LIMITS, type Seen, type Verdict } from "./observe.ts";
import type { NodesRpcClient } from "./rpc/client.ts";
import { RpcError } from "./rpc/json_rpc.ts";

/** The checkpoints and settled events that the store holds. */
export interface KnownLedgers {
  /** Ascending. */
  checkpoints: readonly Checkpoint[];
  /** The last checkpoint of each former epoch. */
  formerCheckpoints: readonly Checkpoint[];
  /**
   * For nodes without `getLedgers`: whether the node has the newest settled event of these ledgers. Undefined: there is
   * none.
   */
  isEventThere(range: { oldest: number; latest: number }, node: number): Promise<boolean | undefined>;
}

/**
 * `same`: the network of the log. `lags`: the node shows an older ledger, or a former epoch. `other`: another network.
 * `nothing`: nothing is comparable. `begins` is set after two such answers 2 s apart. `node`: which node, if known.
 */
export type Finding =
  & { node?: number }
  & (
    | { kind: "same"; checkpoint: Checkpoint | undefined }
    | { kind: "lags" | "nothing" }
    | { kind: "other"; begins?: NewEpoch }
  );

/** The head and first checkpoint of a new epoch. */
export interface NewEpoch {
  head: Answer;
  checkpoint: Checkpoint;
  oldestLedger: number;
}

export interface ResetCheck {
  /**
   * Reads the hash of a ledger twice, or of the oldest one that the node holds if that is later. Undefined when the answers
   * differ or are odd.
   */
  checkpoint(ledger: number, signal: AbortSignal): Promise<Checkpoint | undefined>;
  /** Compares the checkpoints with this node, or with one that is well when absent. Rejects when no node answers. */
  compare(known: KnownLedgers, signal: AbortSignal, node?: number): Promise<Finding>;
}

/** The report of one answer. */
interface Said {
  node: number;
  oldest: number;
  latest: number;
  /** Of the latest ledger, Unix seconds; 0 when not reported. */
  closeTime: number;
  /** The requested ledger. Absent: the node has no `getLedgers`. */
  found?: Checkpoint;
  /** The verdict on the answer. */
  verdict: Verdict | undefined;
}

type Range = { oldest: number; latest: number };

/** A node that fails only at `getLedgers` for this long does not offer it. */
const PATIENCE_MS = 20_000;

/** Creates the check that recognises a network reset by hashes of ledgers. */
export function createResetCheck({ rpc, clock }: {
  rpc: Pick<NodesRpcClient, "getLedgers" | "getHealth" | "getLatestLedger">;
  clock: Pick<Clock, "now" | "monotonicMs">;
}): ResetCheck {
  /** Since when `getLedgers` fails (monotonic ms). */
  let failingSinceMs: number | undefined;
  /** The first answer that showed another network. */
  let suspicion: Seen & NewEpoch | undefined;

  /** Returns the ledger, or the range that the node holds when the ledger is outside it. */
  async function ask(ledger: number, signal: AbortSignal, node?: number): Promise<Said | Range> {
    let by = { node: node ?? 0, verdict: undefined as Verdict | undefined };
    const answered = (node: number, verdict: Verdict | undefined) => void (by = { node, verdict });
    const options = { node, signal, answered };
    try {
      const answer = await rpc.getLedgers({ startLedger: ledger, limit: 1 }, options);
      const { latestLedger: latest, oldestLedger: oldest, latestLedgerCloseTime: closeTime = 0 } = answer;
      failingSinceMs = undefined;
      const found = answer.ledgers.find(({ sequence }) => sequence === ledger);
      if (found === undefined) return { oldest, latest };
      const checkpoint = { ledger, hash: found.hash, closeTime: Number(found.ledgerCloseTime ?? 0) };
      return { ...by, oldest, latest, closeTime, found: checkpoint };
    } catch (error) {
      const { range, kind } = error instanceof RpcError ? error : {};
      if (range !== undefined) {
        failingSinceMs = undefined;
        return range;
      }
      failingSinceMs ??= clock.monotonicMs();
      if (kind !== "unknown_method" && clock.monotonicMs() - failingSinceMs < PATIENCE_MS) throw error;
      const health = await rpc.getHealth(options);
      const { latestLedger: latest, oldestLedger: oldest } = health;
      const closeTime = health.latestLedgerCloseTime ?? (await rpc.getLatestLedger(options)).closeTime ?? 0;
      return { ...by, oldest, latest, closeTime };
    }
  }

  async function judge(
    known: KnownLedgers,
    signal: AbortSignal,
    node?: number,
  ): Promise<{ kind: Finding["kind"]; said?: Said }> {
    const newest = known.checkpoints.at(-1);
    if (newest === undefined) return { kind: "nothing" };
    const first = await ask(newest.ledger, signal, node);
    // Out of range: ask for the newest checkpoint in its range, or for its latest ledger.
    const said = isSaid(first) ? first : await ask(newestIn(known, first)?.ledger ?? first.latest, signal, node);
    // Another node behind the same URL has answered.
    if (!isSaid(said)) return { kind: "lags" };
    const checkpoint = newestIn(known, said);
    if (checkpoint === undefined) {
      if (said.closeTime === 0) return { kind: "nothing", said };
      if (said.closeTime <= newest.closeTime) return { kind: "lags", said };
      return { kind: said.latest < known.checkpoints[0]!.ledger ? "other" : "nothing", said };
    }
    if (said.found === undefined || checkpoint.hash === null) {
      const isThere = await known.isEventThere(said, said.node);
      return { kind: isThere === undefined ? "nothing" : isThere ? "same" : "other", said };
    }
    if (said.found.ledger !== checkpoint.ledger) return { kind: "lags", said };
    if (said.found.hash === checkpoint.hash) return { kind: "same", said };
    for (const former of known.formerCheckpoints) {
      if (former.hash === null || former.ledger < said.oldest || former.ledger > said.latest) continue;
      const shown = await ask(former.ledger, signal, said.node);
      // Another node behind the same URL has answered, so nothing is known of this one.
      if (!isSaid(shown) || Math.abs(shown.latest - said.latest) > LIMITS.ledgers) return { kind: "lags", said };
      if (shown.found?.hash === former.hash) return { kind: "lags", said };
    }
    return { kind: "other", said };
  }

  return {
    async checkpoint(wanted, signal) {
      const answer = await ask(wanted, signal);
      // A node may have pruned the ledger since another one reported it.
      const ledger = isSaid(answer) ? wanted : Math.max(wanted, answer.oldest);
      const first = isSaid(answer) ? answer : await ask(ledger, signal);
      if (!isSaid(first) || first.verdict === "odd") return undefined;
      if (first.found === undefined) {
        return { ledger, hash: null, closeTime: ledger === first.latest ? first.closeTime : 0 };
      }
      // A wrong checkpoint would look like a reset later.
      const second = await ask(ledger, signal);
      return isSaid(second) && second.found?.hash === first.found.hash ? first.found : undefined;
    },

    async compare(known, signal, asked) {
      const { kind, said } = await judge(known, signal, asked);
      const node = said?.node ?? asked;
      if (kind === "same") {
        suspicion = undefined;
        return { kind, node, checkpoint: newestIn(known, said!) };
      }
      if (kind !== "other") return { kind, node };
      const atMs = clock.monotonicMs();
      const { latest: sequence, closeTime, oldest } = said!;
      const head = { sequence, closeTime };
      const seen = {
        ...head,
        atMs,
        head,
        checkpoint: said!.found ?? { ledger: sequence, hash: null, closeTime },
        oldestLedger: oldest,
      };
      const first = suspicion;
      if (
        first === undefined || !isPlausibleAfter(first, seen, { monotonicMs: atMs, wallSeconds: clock.now() / 1_000 })
      ) {
        suspicion = seen;
        return { kind, node };
      }
      if (atMs - first.atMs < LIMITS.oddMs) return { kind, node };
      // One wrong hash as checkpoint of the new epoch would look like another reset later.
      const { ledger, hash } = first.checkpoint;
      const again = await ask(ledger, signal, said!.node);
      const isSame = isSaid(again) && (again.found?.hash ?? null) === hash;
      suspicion = isSame ? undefined : seen;
      if (!isSame) return { kind, node };
      const oldestLedger = Math.min(oldest, first.oldestLedger);
      return { kind, node, begins: { head: first.head, checkpoint: first.checkpoint, oldestLedger } };
    },
  };
}

const isSaid = (answer: Said | Range): answer is Said => "node" in answer;

function newestIn({ checkpoints }: KnownLedgers, { oldest, latest }: Range): Checkpoint | undefined {
  return checkpoints.findLast(({ ledger }) => ledger >= oldest && ledger <= latest);
}
