import type { Clock } from "../clock.ts";
import { MAX_LEDGER } from "../ledger_numbers.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { RpcError } from "../stellar/rpc/json_rpc.ts";
import type { LedgerView } from "../stellar/ledger/ledger_view.ts";
import { formatEventId, heightOf, parseEventId } from "../store/event.ts";
import type { LedgerHash, Store, WatcherState } from "../store/store.ts";
import { isLeftBehind, nodeInUse, othersThan } from "./anchor.ts";
import { isOfFormer, stillShowsFormer } from "./former_network.ts";
import { oldestOfNew } from "./oldest_ledger.ts";
import { createReader } from "./reading.ts";

/**
 * `same`: the network is the one that was read. `reset`: it is another one, twice seen; `oldestLedger` is the first that it
 * holds, `formerAnchor` a ledger of the former one that it has not. `doubtful`: it looks like another one, and is asked
 * again. `gone_back`: it is the same up to a ledger (`sameUpTo`), but ledgers that came after are gone. `unknown`: nothing
 * that is known can be compared.
 */
export type ResetFinding =
  | { kind: "same" | "doubtful" | "unknown" }
  | { kind: "gone_back"; sameUpTo: number }
  | { kind: "reset"; oldestLedger: number; formerAnchor?: LedgerHash };

/** What one node says of what is known: `other` when it cannot be the same network. */
type Said = "other" | "unknown" | { sameUpTo: number };
/** `not_known`: its operator does not offer what it was asked for, or it still shows the network before. */
type Answer = Said | "not_known";

export interface ResetCheck {
  /** Whether it is time: at the start, after a pause or a failure, when the network seems to have gone back, every ten minutes. */
  isDue(state: WatcherState): boolean;
  /** Looks whether what was read is still there. Rejects when no node answers. */
  check(state: WatcherState, signal: AbortSignal): Promise<ResetFinding>;
  /** Nothing was known of the network before: this process begins the log. */
  begun(): void;
  /** What was found last is written down: until then every check answers it again. */
  written(): void;
  /** The node has failed: the next look is due, before anything is read. */
  again(): void;
}

const CHECK_MS = 600_000;
/** After so long without a poll (turns that come once a minute, a machine that slept) nobody has seen what happened. */
const PAUSE_MS = 30_000;
const SECOND_LOOK_MS = 2_000;
/** The same node confirms itself only after longer, where there are others. */
const SAME_NODE_MS = 10_000;
/** After so long what one answer has said is no first look any more: turns come once a minute. */
const SUSPICION_KEPT_MS = 90_000;

export function createResetCheck({ rpc, store, view, clock, patienceMs }: {
  rpc: Pick<NodesRpcClient, "getEvents" | "getLedgers" | "getHealth" | "nodes">;
  store: Pick<Store, "events">;
  view: LedgerView;
  clock: Clock;
  /** How long a node that does not answer is waited for. */
  patienceMs(): number;
}): ResetCheck {
  const read = createReader(rpc, 100);
  let nextMs = -Infinity;
  /** When it was asked last whether it is time. */
  let askedAtMs = -Infinity;
  let failingSinceMs: number | undefined;
  let suspicion: { node: number; atMs: number; epoch: number } | undefined;
  /** What was found and changes what is held: it is said again until that is written down, whatever the network shows by then. */
  let found: { epoch: number; scannedLedger: number; overturned: number; finding: ResetFinding } | undefined;
  const foundOf = ({ epoch, scannedLedger }: WatcherState) =>
    found?.epoch === epoch && found.scannedLedger === scannedLedger ? found.finding : undefined;
  let isBegunHere = false;
  /** How often the view had been overturned when what was found last was: how it went back until then is written down. */
  let writtenOverturned = 0;

  /** Lower is lag, unless two claims say otherwise; and lower but later is never what was read: close times do not fall. */
  function seemsGoneBack({ scannedLedger, latestLedger, latestLedgerCloseTime }: WatcherState): boolean {
    const { confirmed: { sequence, closeTime }, wentBackFrom, overturned } = view;
    if (sequence === 0 || sequence >= scannedLedger) return false;
    // The time is that of the newest ledger, and not of all that a node did not hold any more.
    const isLower = latestLedger === 0 || sequence < latestLedger;
    // That the network before has ended another gateway may have written down.
    const isOfFormer = wentBackFrom !== undefined && wentBackFrom.timedSequence > latestLedger &&
      wentBackFrom.closeTime < latestLedgerCloseTime;
    const hasGoneBack = wentBackFrom !== undefined && !isOfFormer && overturned > writtenOverturned;
    return hasGoneBack || (isLower && closeTime > latestLedgerCloseTime);
  }

  async function ask(state: WatcherState, node: number, signal: AbortSignal): Promise<Answer> {
    let cantTell: Answer = "unknown";
    if (state.anchor !== undefined) {
      try {
        const { ledgers } = await rpc.getLedgers({ startLedger: state.anchor.ledger, limit: 1 }, { node, signal });
        const found = ledgers.find(({ sequence }) => sequence === state.anchor!.ledger);
        if (found === undefined) return "unknown";
        if (found.hash !== state.anchor.hash) {
          return await stillShowsFormer(rpc, state, { node, signal }) ? "not_known" : "other";
        }
        return seemsGoneBack(state)
          ? await askForEvents(state, node, state.anchor.ledger, signal)
          : { sameUpTo: state.anchor.ledger };
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        if (error.range === undefined) cantTell = "not_known";
        else if (error.range.latest >= state.anchor.ledger || !seemsGoneBack(state)) return "unknown";
      }
    }
    if (seemsGoneBack(state)) return await askForEvents(state, node, undefined, signal);
    return state.latestLedger === 0 && !isBegunHere ? await askForUnconfirmed(state, node, signal) : cantTell;
  }

  /**
   * Who began the log died before a ledger was confirmed, and what it appended is all that is known: a network that came
   * later and has not come so far is another one.
   */
  async function askForUnconfirmed({ epoch }: WatcherState, node: number, signal: AbortSignal): Promise<Said> {
    const filter = { fromHeight: heightOf(epoch, 0), toHeight: heightOf(epoch, MAX_LEDGER) };
    const [event] = await store.events.read({ filter, order: "desc", limit: 1 });
    if (event === undefined) return "unknown";
    const { latestLedger, latestLedgerCloseTime = 0 } = await rpc.getHealth({ node, signal });
    const isLater = latestLedgerCloseTime > Date.parse(event.ledgerClosedAt) / 1_000;
    return latestLedger < event.ledger && isLater ? "other" : "unknown";
  }

  /**
   * A node that does not answer is waited for where it matters, at the start, after a failure and when the network seems to
   * have gone back; but not for ever: others of its answers may do.
   */
  function orUnknown(state: WatcherState, error: unknown): "unknown" {
    const nowMs = clock.monotonicMs();
    failingSinceMs ??= nowMs;
    const isAwaited = (nextMs === -Infinity || seemsGoneBack(state)) && nowMs - failingSinceMs < patienceMs();
    if (isAwaited) throw error;
    return "unknown";
  }

  /** Whether the newest events that are held are still at their place. `sameLedger`: one whose hash is still the same. */
  async function askForEvents(
    state: WatcherState,
    node: number,
    sameLedger: number | undefined,
    signal: AbortSignal,
  ): Promise<Said> {
    const { epoch } = state;
    const known = (fromLedger: number, toLedger: number) =>
      store.events.read({
        filter: { fromHeight: heightOf(epoch, fromLedger), toHeight: heightOf(epoch, toLedger) },
        order: "desc",
        limit: 1,
      });
    // By what this node says now: the view of a gateway that stood by may be older than what another one committed.
    const { latestLedger: latest, latestLedgerCloseTime } = await rpc.getHealth({ node, signal });
    // It lags behind what is known, in whichever network.
    if ((latestLedgerCloseTime ?? Infinity) < view.confirmed.closeTime) return "unknown";
    if ((await known(latest + 1, state.scannedLedger)).length > 0) return "other";
    const [event] = await known(0, latest);
    if (event === undefined) return sameLedger === undefined ? "other" : { sameUpTo: sameLedger };
    const rpcId = formatEventId({ ...parseEventId(event.id)!, epoch: 0 });
    const { ledger: startLedger, contractId } = event;
    const reading = await read({ place: { startLedger }, contractIds: [contractId], node, signal });
    if (reading.kind === "behind") return "other";
    // Of another transaction it is another event, which happens to be at its place.
    const isThere = reading.kind === "pruned" ||
      reading.page.events.some(({ id, txHash }) => id === rpcId && txHash.toLowerCase() === event.txHash);
    return isThere ? { sameUpTo: Math.max(sameLedger ?? 0, startLedger - 1) } : "other";
  }

  /** The node in use, unless it shows no new ledgers; after a suspicion another one, and without its word the one that said it first. */
  async function askOnce(state: WatcherState, signal: AbortSignal): Promise<{ node: number; said: Said }> {
    const first = suspicion?.node ?? nodeToAsk();
    const other = (first + 1) % rpc.nodes().length;
    if (suspicion !== undefined && other !== first) {
      const said = await ask(state, other, signal).catch(() => "unknown" as const);
      if (said === "other" || (typeof said === "object" && !isLeftBehind(rpc, other))) return { node: other, said };
    }
    let said: Answer = "not_known";
    let failure: unknown;
    try {
      said = await ask(state, first, signal);
    } catch (error) {
      failure = error;
    }
    const denying = said === "not_known" ? await nodeThatDenies(state, first, signal) : undefined;
    if (denying !== undefined) return { node: denying, said: "other" };
    if (failure !== undefined) return { node: first, said: orUnknown(state, failure) };
    failingSinceMs = undefined;
    return { node: first, said: said === "not_known" ? "unknown" : said };
  }

  /** Where a node's operator does not offer hashes, or it fails: another one that says that the network is another. */
  async function nodeThatDenies(
    state: WatcherState,
    cantTell: number,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    for (const node of othersThan(rpc, cantTell)) {
      const said = await ask(state, node, signal).catch(() => "unknown");
      // That it still shows the network before, which is another one too, may not have been known before it answered.
      if (said === "other" && !isLeftBehind(rpc, node)) return node;
    }
    return undefined;
  }

  function nodeToAsk(): number {
    const inUse = nodeInUse(rpc);
    if (!isLeftBehind(rpc, inUse)) return inUse;
    const isWell = rpc.nodes().map((one, node) =>
      one.condition === "well" && one.closeTime > 0 && !isLeftBehind(rpc, node)
    );
    return isWell.includes(true) ? isWell.indexOf(true) : inUse;
  }

  /** Whether something is suspected: what was of another epoch, another gateway has looked into and written down. */
  function isSuspected({ epoch }: WatcherState): boolean {
    return suspicion?.epoch === epoch && clock.monotonicMs() - suspicion.atMs < SUSPICION_KEPT_MS;
  }

  async function look(state: WatcherState, signal: AbortSignal): Promise<ResetFinding> {
    const nodes = rpc.nodes().length;
    if (!isSuspected(state)) suspicion = undefined;
    const { node, said } = await askOnce(state, signal);
    if (said !== "other") {
      suspicion = undefined;
      nextMs = clock.monotonicMs() + CHECK_MS;
      if (said === "unknown") return { kind: "unknown" };
      return seemsGoneBack(state) ? { kind: "gone_back", sameUpTo: said.sameUpTo } : { kind: "same" };
    }
    const nowMs = clock.monotonicMs();
    suspicion ??= { node, atMs: nowMs, epoch: state.epoch };
    const apartMs = nodes > 1 && node === suspicion.node ? SAME_NODE_MS : SECOND_LOOK_MS;
    if (nowMs - suspicion.atMs < apartMs) return { kind: "doubtful" };
    const oldestLedger = await oldestOfNew(rpc, state, { node, signal });
    // What went back to a snapshot still has it.
    const anchor = state.anchor ?? state.nextAnchor;
    const isThere = await isOfFormer(rpc, { formerAnchor: anchor }, { node, signal }).catch(() => true);
    suspicion = undefined;
    nextMs = nowMs + CHECK_MS;
    return {
      kind: "reset",
      oldestLedger,
      ...(anchor === undefined || isThere ? {} : { formerAnchor: { ledger: anchor.ledger, hash: anchor.hash } }),
    };
  }

  return {
    isDue(state) {
      const nowMs = clock.monotonicMs();
      if (nowMs - askedAtMs > PAUSE_MS) nextMs = Math.min(nextMs, nowMs);
      askedAtMs = nowMs;
      // Another gateway has written it down.
      if (foundOf(state) === undefined) found = undefined;
      return nowMs >= nextMs || found !== undefined || suspicion !== undefined || seemsGoneBack(state);
    },

    async check(state, signal) {
      const before = foundOf(state);
      if (before !== undefined) return before;
      const finding = await look(state, signal);
      const { epoch, scannedLedger } = state;
      const isChange = finding.kind === "reset" || finding.kind === "gone_back";
      found = isChange ? { epoch, scannedLedger, overturned: view.overturned, finding } : undefined;
      return finding;
    },

    begun() {
      isBegunHere = true;
    },

    written() {
      if (found !== undefined) writtenOverturned = found.overturned;
      found = undefined;
    },

    again() {
      nextMs = -Infinity;
    },
  };
}
