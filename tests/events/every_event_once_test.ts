import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { GatewayError } from "../../lib/errors.ts";
import { createHistory } from "../../lib/events/history.ts";
import { createWatcher, type Watcher } from "../../lib/events/watcher.ts";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";
import { createLedgerView } from "../../lib/stellar/ledger/ledger_view.ts";
import { openStore } from "../../lib/store/open.ts";
import { type EventSlice, type Store, StoreError } from "../../lib/store/store.ts";
import { readAll } from "./parts.ts";
import { CONTRACT, createSimulatedNode, decodeSimulated, type EmittedEvent } from "./simulated_node.ts";

type Step =
  | { do: "close"; eventsPerLedger: number[]; undecodableEvery: number }
  | { do: "closeEmpty"; ledgers: number }
  | { do: "turn" }
  | { do: "restart" }
  | { do: "consume"; limit: number }
  | { do: "lag"; ledgers: number }
  | { do: "reset" }
  | { do: "failCall"; after: number; how: number }
  | { do: "failCommit"; after: number; written: boolean };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("close" as const),
      eventsPerLedger: fc.array(fc.nat(9), { maxLength: 8 }),
      undecodableEvery: fc.integer({ min: 2, max: 20 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("closeEmpty" as const), ledgers: fc.nat(50) }) },
  { weight: 8, arbitrary: fc.constant({ do: "turn" as const }) },
  { weight: 2, arbitrary: fc.constant({ do: "restart" as const }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("consume" as const), limit: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("lag" as const), ledgers: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.constant({ do: "reset" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("failCall" as const), after: fc.nat(5), how: fc.nat(2) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("failCommit" as const), after: fc.nat(5), written: fc.boolean() }),
  },
);

const FAILURES = [
  () => new GatewayError("upstream_error", "the RPC node could not be reached"),
  () => new RpcError("getEvents", -32603, "the node is unhealthy"),
  () => new RpcError("getEvents", -32600, "could not read events"),
];

/** What the commits say of one epoch of the gateway. */
interface Epoch {
  generation: number;
  oldestLedger: number;
  latestLedger: number;
}

/** A node, a store that both fail when told to, a gateway on them that is restarted, and one who reads its history. */
async function createWorld(sizes: { retention: number; scanLimit: number; pageEvents: number; sliceEvents: number }) {
  // Each generation starts far below the one before, so that no network is ever ahead of the one it replaced.
  const node = createSimulatedNode({ first: 1_000_000, retention: sizes.retention, scanLimit: sizes.scanLimit });
  const bare = await openStore("memory:");
  const epochs = new Map<number, Epoch>();
  let callsUntilFailure: { left: number; how: number } | undefined;
  let commitsUntilFailure: { left: number; written: boolean } | undefined;
  node.beforeCall = () => {
    if (callsUntilFailure === undefined || callsUntilFailure.left-- > 0) return;
    const { how } = callsUntilFailure;
    callsUntilFailure = undefined;
    throw FAILURES[how]!();
  };

  async function commitEvents(slice: EventSlice): Promise<void> {
    const fails = commitsUntilFailure !== undefined && commitsUntilFailure.left-- <= 0
      ? commitsUntilFailure
      : undefined;
    if (fails !== undefined) commitsUntilFailure = undefined;
    if (fails?.written === false) throw new StoreError("full", "the disk is full");
    assert.ok(slice.events.length <= sizes.sliceEvents);
    await bare.commitEvents(slice);
    noteEpoch(slice);
    if (fails !== undefined) throw new StoreError("unavailable", "the answer to a commit was lost");
  }

  function noteEpoch({ state, gaps = [] }: EventSlice): void {
    const { epoch, oldestLedger, latestLedger } = state;
    if (!epochs.has(epoch)) epochs.set(epoch, { generation: node.generation, oldestLedger, latestLedger });
    const known = epochs.get(epoch)!;
    assert.equal(known.generation, node.generation, "an epoch of the gateway is one life of the network");
    known.latestLedger = Math.max(known.latestLedger, latestLedger);
    for (const gap of gaps) {
      const lost = epochs.get(gap.epoch)!.generation < node.generation || gap.toLedger < node.oldest;
      assert.ok(lost, `ledgers ${gap.fromLedger} to ${gap.toLedger} are a gap although the node holds them`);
    }
  }

  const store: Store = Object.create(bare, { commitEvents: { value: commitEvents } });
  let watcher: Watcher;
  let history: ReturnType<typeof createHistory>;

  /** The gateway as a new process has it: only the store is left. */
  async function restart(): Promise<void> {
    const state = await store.watcherState();
    const tip = createLedgerView({
      sequence: state?.latestLedger,
      closeTime: state?.latestLedgerCloseTime,
      epoch: state?.epoch,
    });
    history = createHistory({ store, tip });
    watcher = createWatcher({
      ...sizes,
      rpc: node.rpc,
      store,
      tip,
      contractIds: [CONTRACT],
      decode: decodeSimulated,
      now: () => 0,
      wait: () => Promise.resolve(),
      pollMs: 1_000,
      onProblem: () => {},
    });
  }
  await restart();

  const consumed: string[] = [];
  let cursor: string | undefined;
  async function consume(limit: number): Promise<number> {
    const page = await history.page({ limit, cursor });
    cursor = page.cursor;
    consumed.push(...page.events.map(({ txHash }) => txHash));
    return page.events.length;
  }

  async function take(step: Step): Promise<void> {
    if (step.do === "turn") await watcher.turn();
    if (step.do === "restart") await restart();
    if (step.do === "consume") await consume(step.limit);
    if (step.do === "closeEmpty") node.closeEmpty(step.ledgers);
    if (step.do === "lag") node.lag = step.ledgers;
    if (step.do === "reset") node.reset(1_000_000 - 20_000 * (node.generation + 1));
    if (step.do === "failCall") callsUntilFailure = { left: step.after, how: step.how };
    if (step.do === "failCommit") commitsUntilFailure = { left: step.after, written: step.written };
    if (step.do === "close") {
      for (const count of step.eventsPerLedger) {
        node.close(...Array.from({ length: count }, (_, i) => ({ decodable: (i + 1) % step.undecodableEvery !== 0 })));
      }
    }
  }

  /** All well again: the gateway catches up, and so does the one who reads. */
  async function settle(): Promise<void> {
    node.lag = 0;
    callsUntilFailure = commitsUntilFailure = undefined;
    node.close({});
    for (let turns = 0; (await watcher.turn()).outcome !== "at_tip"; turns++) {
      assert.ok(turns < 1_000, "the watcher does not reach the tip");
    }
    while (await consume(7) === 7);
  }

  return { node, store, epochs, consumed, take, settle, history: () => history };
}

describe("pulling the history", () => {
  test("gives each event once and in order, less the recorded gaps, whatever fails in between", async () => {
    const seen = { consumed: 0, gaps: 0, epochs: 0 };
    const sizes = fc.record({
      retention: fc.integer({ min: 5, max: 80 }),
      scanLimit: fc.integer({ min: 3, max: 40 }),
      pageEvents: fc.integer({ min: 1, max: 15 }),
      sliceEvents: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(sizes, fc.array(step, { minLength: 10, maxLength: 60 }), async (sizes, steps) => {
        const world = await createWorld(sizes);
        for (const step of steps) await world.take(step);
        await world.settle();
        const { node, store, epochs, consumed } = world;

        const gaps = await store.gaps();
        const epochOf = new Map([...epochs].map(([epoch, { generation }]) => [generation, epoch]));
        const inGap = ({ generation, ledger }: EmittedEvent) =>
          gaps.some((gap) =>
            gap.epoch === epochOf.get(generation) && gap.fromLedger <= ledger && ledger <= gap.toLedger
          );
        const inReach = ({ generation, ledger }: EmittedEvent) => {
          const epoch = epochs.get(epochOf.get(generation) ?? -1);
          return epoch !== undefined && epoch.oldestLedger <= ledger && ledger <= epoch.latestLedger;
        };
        const shown = node.emitted.filter(({ decodable }) => decodable);
        const consumedSet = new Set(consumed);
        // A ledger that was read in part before it was lost is a gap, and still what was read of it is shown.
        const expected = shown.filter((event) => inGap(event) ? consumedSet.has(event.txHash) : inReach(event));
        assert.deepEqual(consumed, expected.map(({ txHash }) => txHash));
        assert.deepEqual(await readAll(world.history(), 1_000), consumed, "who reads later reads the same");
        seen.consumed += consumed.length;
        seen.gaps += gaps.length;
        seen.epochs += epochs.size - 1;
        await store.close();
      }),
      { numRuns: 300 },
    );
    // The steps are worth nothing if they never lead anywhere.
    assert.ok(seen.consumed > 1_000 && seen.gaps > 50 && seen.epochs > 50, JSON.stringify(seen));
  });
});
