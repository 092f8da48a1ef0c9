/*
 * Decides from which ledger and which node the next page comes, and what its answer means for the scanned ledgers.
 * `reading.ts` reads the page, `coverage.ts` changes the state, and `rescan.ts` reads each ledger again.
 */

import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { askNewest } from "../stellar/fresh_read.ts";
import type { Head } from "../stellar/head.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { WatcherState } from "../store/store.ts";
import { afterPruning, withScanned } from "./coverage.ts";
import type { Place } from "./page.ts";
import type { Step } from "./polling.ts";
import { isOfNetwork, readAnywhere, type Reading, type ReadPage } from "./reading.ts";
import type { ResetWatch } from "./reset_watch.ts";

export interface ScanParts {
  rpc: NodesRpcClient;
  head: Head;
  clock: Pick<Clock, "monotonicMs">;
  read(request: ReadPage): Promise<Reading>;
  contractIds: readonly string[];
  resets: Pick<ResetWatch, "again" | "isRuledOutSince">;
  /** Called when no node holds the next ledgers any more. */
  onPruned(): void;
  /** The time of a notice, as text. */
  detectedAt(): string;
}

export interface Scan {
  /** Reads one page, from the last commit towards the node's newest ledger. */
  step(state: WatcherState, signal: AbortSignal): Promise<Step>;
  /** The index of the node that answered last. */
  readonly lastNode: number;
}

export function createScan(parts: ScanParts): Scan {
  const { rpc, head, clock, read, contractIds, resets } = parts;
  /** `next`: the node of the next read, unless it is the one in use. */
  const node: { last: number; next?: number } = { last: 0 };
  let pruned: { ledger: number; atMs: number } | undefined;

  const lags = (state: WatcherState, by: number, latest: number): Step => {
    node.next = (by + 1) % rpc.nodes().length;
    const reason = `the RPC node shows ledger ${latest}, ledger ${head.sequence} has been seen`;
    return { state, events: [], ends: { outcome: "lagging", reason } };
  };

  /** Makes a gap of ledgers that no node holds, once a comparison since the first such answer ruled out a reset. */
  async function afterPruned(
    state: WatcherState,
    held: { oldestLedger: number; isSilent: boolean },
    signal: AbortSignal,
  ): Promise<Step> {
    const ledger = state.scannedLedger;
    if (pruned?.ledger !== ledger) pruned = { ledger, atMs: clock.monotonicMs() };
    await askNewest(rpc, { signal });
    if (held.oldestLedger > head.sequence || !resets.isRuledOutSince(pruned.atMs)) {
      resets.again();
      const reason = "the RPC node no longer holds the ledgers that come next";
      return { state, events: [], ends: { outcome: "lagging", reason } };
    }
    pruned = undefined;
    parts.onPruned();
    const next = afterPruning(state, held.oldestLedger, parts.detectedAt(), held);
    return { state: next, events: [], ends: { outcome: "more" } };
  }

  return {
    get lastNode() {
      return node.last;
    },
    async step(state, signal) {
      const { rpcCursor, scannedLedger } = state;
      const place: Place = rpcCursor === undefined ? { startLedger: scannedLedger + 1 } : { cursor: rpcCursor };
      const request = { place, contractIds, signal };
      const asked = node.next ?? Math.max(0, rpc.nodes().findIndex(({ inUse }) => inUse));
      const first = await read({ ...request, node: node.next });
      node.next = undefined;
      const reading = first.kind === "pruned" ? await readAnywhere(read, rpc, request, first) : first;
      if (reading.kind === "pruned") return await afterPruned(state, reading, signal);
      pruned = undefined;
      if (reading.kind === "behind") {
        // The error carries no time, and the head needs one for its verdict.
        await askNewest(rpc, { node: asked, signal });
        const isAtHead = reading.latestLedger >= head.sequence && head.sequence <= scannedLedger;
        return isAtHead ? { state, events: [] } : lags(state, asked, reading.latestLedger);
      }
      const { page, answer, verdict } = reading;
      node.last = reading.node;
      if (answer.latestLedgerCloseTime === undefined && !head.isTimed) {
        await askNewest(rpc, { node: reading.node, signal });
      }
      if (page.cursor === rpcCursor && page.scannedLedger < answer.latestLedger) {
        throw new GatewayError("upstream_error", `the RPC node's event cursor ${page.cursor} does not advance`);
      }
      if (!isOfNetwork(reading, head)) return lags(state, reading.node, answer.latestLedger);
      const next = withScanned(state, page.scannedLedger, { closeTime: head.closeTime, rpcCursor: page.cursor });
      const isAtEnd = page.scannedLedger >= answer.latestLedger;
      if (verdict === "lagging" && isAtEnd && answer.latestLedger < head.sequence) {
        return { ...lags(next, reading.node, answer.latestLedger), events: page.events };
      }
      return { state: next, events: page.events, ...(isAtEnd ? {} : { ends: { outcome: "more" } }) };
    },
  };
}
