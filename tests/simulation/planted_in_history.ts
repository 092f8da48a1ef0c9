import * as kinds from "./kinds.ts";

const STREAMS = "lib/events/stream.ts";

/** Bugs of what is believed of the network and kept of its events: the head, the log, live streams, what is forgotten. */
export const IN_HISTORY = [
  {
    name: "a page's cursor passes one event too many",
    file: "lib/events/log_reader.ts",
    from: ": lastRead!.sequence;\n      if (sequence === place",
    to: ": lastRead!.sequence + 1;\n      if (sequence === place",
    seed: 2,
  },
  {
    name: "a reset is told by one answer",
    file: "lib/stellar/reset.ts",
    from: "const first = suspicion;",
    to: "const first = suspicion;\n      if (first === undefined) return { kind, node, begins: seen };",
    seed: 37,
    focus: "history",
  },
  {
    name: "nothing is scanned a second time",
    file: "lib/events/rescan.ts",
    from: "if (toLedger <= settledLedger || monotonicMs() < retryAtMs) return undefined;",
    to: "if (toLedger < Infinity) return undefined;",
    seed: 153,
    kind: kinds.withheld,
  },
  {
    name: "what a node has pruned is passed over in silence",
    file: "lib/events/coverage.ts",
    from: "withGap(rest, state.scannedLedger + 1, oldestLedger - 1,",
    to: "withGap(rest, oldestLedger, oldestLedger - 1,",
    seed: 34,
  },
  {
    name: "what is read of a gap is not kept",
    file: "lib/events/gaps.ts",
    from: "      events: events.filter(({ ledger }) => ledger <= toLedger),",
    to: "      events: events.filter(({ ledger }) => ledger < 0 * toLedger),",
    seed: 26,
    focus: "history",
  },
  {
    name: "the second scan comes at once",
    file: "lib/events/rescan.ts",
    from: "monotonicMs() - atMs >= RESCAN_MS",
    to: "monotonicMs() - atMs >= 0",
    seed: 2643,
    kind: kinds.withheldByClock,
    wasReal: true,
  },
  {
    name: "a live stream's heartbeat passes one event too many",
    file: "lib/events/stream.ts",
    from: 'kind: "ledger", cursor: encodeCursor(this.#place), latestLedger',
    to: 'kind: "ledger", cursor: encodeCursor({ ...this.#place, sequence: this.sequence + 1, mark: 0 }), latestLedger',
    seed: 2,
  },
  {
    name: "a live stream outlives its key",
    file: STREAMS,
    from: "if (refusal !== undefined) this.end({ revoked: refusal });",
    to: "if (refusal === null) this.end({ revoked: refusal });",
    seed: 85,
  },
  {
    name: "a card is shown as a lagging node has it",
    file: "lib/stellar/fresh_read.ts",
    from: 'verdict !== "odd" && ledger >= Math.max(1, head.minimum) &&',
    to: 'verdict !== "odd" &&',
    seed: 467,
    kind: kinds.shownAmongLag,
  },
  {
    name: "an entry is shown on when the next ledger is there",
    file: "lib/stellar/entries.ts",
    from: "head.onChange(() => cached.clear());",
    to: "",
    seed: 161,
    kind: kinds.shownAmongLag,
  },
  {
    name: "history is forgotten by the machine's clock",
    file: "lib/store/retention.ts",
    from: "Math.min(now(), closeTime * 1_000)",
    to: "now()",
    seed: 664,
    kind: kinds.keptForADay,
  },
];
