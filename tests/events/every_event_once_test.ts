// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { type Store, StoreError, type WatcherStep } from "../../lib/store/store.ts";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, type Fixture, hashesOf, OTHER_CONTRACT, readAll, START_MS } from "./parts.ts";
import { CONTRACT, createSimulatedNetwork, type EmittedEvent, NodeRefusal, rpcId } from "./simulated_node.ts";
import { fakeClock } from "../stellar/rpc/stub_rpc.ts";
import { forTier, isLong } from "../tier.ts";

const RUNS = forTier({ test: 40, all: 80 });

type Step =
  | { do: "close"; eventsPerLedger: number[]; undecodableEvery: number }
  | { do: "closeEmpty"; ledgers: number }
  | { do: "turn"; ms: number }
  | { do: "restart"; other: boolean }
  | { do: "consume"; limit: number }
  | { do: "lag"; node: number; ledgers: number }
  | { do: "omit"; node: number; back: number }
  | { do: "reset" }
  | { do: "stepClock"; ms: number }
  | { do: "lie"; node: number; how: number }
  | { do: "failCall"; node: number; after: number; how: number }
  | { do: "failCommit"; after: number; written: boolean };

const node = fc.nat(1);
/** A kind of step, and its weight. */
const often = (weight: number, name: Step["do"], fields: Record<string, fc.Arbitrary<unknown>>) => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<Step>,
});
const STEPS_OF_CLOCK = [7_000, -7_000, 3.6e6, -3.6e6, 86.4e6, -86.4e6, 40 * 86.4e6, -40 * 86.4e6];
const events = {
  eventsPerLedger: fc.array(fc.nat(9), { maxLength: 8 }),
  undecodableEvery: fc.integer({ min: 2, max: 20 }),
};
const step: fc.Arbitrary<Step> = fc.oneof(
  often(6, "close", events),
  often(2, "closeEmpty", { ledgers: fc.nat(30) }),
  often(8, "turn", { ms: fc.constantFrom(0, 3_000, 10_000) }),
  often(2, "restart", { other: fc.boolean() }),
  often(6, "consume", { limit: fc.integer({ min: 1, max: 12 }) }),
  often(2, "lag", { node, ledgers: fc.nat(6) }),
  often(1, "omit", { node, back: fc.nat(20) }),
  often(1, "reset", {}),
  often(1, "stepClock", { ms: fc.constantFrom(...STEPS_OF_CLOCK) }),
  often(2, "lie", { node, how: fc.nat(4) }),
  often(3, "failCall", { node, after: fc.nat(5), how: fc.nat(2) }),
  often(3, "failCommit", { after: fc.nat(5), written: fc.boolean() }),
);

const FAILURES = [
  () => new Response("busy", { status: 503 }),
  () => new NodeRefusal(-32603, "the node is unhealthy"),
  () => new NodeRefusal(-32600, "could not read events"),
];

/** One wrong answer of getEvents. */
const LIES: ((answer: Record<string, unknown>) => Record<string, unknown>)[] = [
  (answer) => ({ ...answer, latestLedger: Number(answer.latestLedger) + 1_000_000 }),
  (answer) => ({ ...answer, latestLedger: Number(answer.latestLedger) + 20 }),
  (answer) => ({ ...answer, latestLedgerCloseTime: Number(answer.latestLedgerCloseTime) + 315_360_000 }),
  (answer) => ({ ...answer, latestLedgerCloseTime: Number(answer.latestLedgerCloseTime) + 50 }),
  (answer) => ({ ...answer, events: [], latestLedger: 5, cursor: rpcId(4, 0, 0, 0) }),
];

interface Sizes {
  retention: [number, number];
  scanLimit: number;
  pageEvents: number;
  stepEvents: number;
}

/** Two nodes and a store with scripted failures, a gateway that restarts, and a client that reads the history. */
async function createWorld({ retention, scanLimit, ...sizes }: Sizes) {
  const network = createSimulatedNetwork(fakeClock(START_MS), 1_000_000);
  const nodes = retention.map((retention) => network.node({ retention, scanLimit }));
  const bare = await openStore("memory:");
  let commitsUntilFailure: { left: number; written: boolean } | undefined;
  const generationOf = new Map<number, number>();

  const append = async (step: WatcherStep) => {
    const isDue = commitsUntilFailure !== undefined && commitsUntilFailure.left-- <= 0;
    const fails = isDue ? commitsUntilFailure : undefined;
    if (fails !== undefined) commitsUntilFailure = undefined;
    if (fails?.written === false) throw new StoreError("full", "the disk is full");
    assert.ok(step.events.length <= sizes.stepEvents);
    const logged = await bare.events.append(step);
    const { epoch } = step.state;
    if (step.events.length > 0 && !generationOf.has(epoch)) generationOf.set(epoch, network.generation);
    if (step.events.length > 0) {
      assert.equal(generationOf.get(epoch), network.generation, "an epoch of the gateway is one life of the network");
    }
    if (fails !== undefined) throw new StoreError("unavailable", "the answer to a commit was lost");
    return logged;
  };
  const store: Store = Object.create(bare, {
    events: { value: Object.create(bare.events, { append: { value: append } }) },
  });
  let contractIds = [CONTRACT];
  let fixture: Fixture;

  /** A new gateway process on the same store. */
  async function restart(other: boolean): Promise<void> {
    await fixture?.watcher.stop();
    contractIds = other ? [CONTRACT, OTHER_CONTRACT] : [CONTRACT];
    fixture = await createFixture(network, { nodes, store, contractIds, ...sizes });
  }
  await restart(false);

  const consumed: string[] = [];
  let cursor: string | undefined;
  async function consume(limit: number): Promise<number> {
    const page = await fixture.history.page({ limit, cursor });
    cursor = page.cursor;
    consumed.push(...hashesOf(page.events));
    return page.events.length;
  }

  async function take(step: Step): Promise<void> {
    if (step.do === "turn") await fixture.watcher.pollFor(step.ms);
    if (step.do === "restart") await restart(step.other);
    if (step.do === "consume") await consume(step.limit);
    if (step.do === "closeEmpty") network.closeEmpty(step.ledgers);
    if (step.do === "lag") nodes[step.node]!.lag = step.ledgers;
    if (step.do === "reset") {
      // A gateway takes its first checkpoint within two polls. A reset before that is not detected.
      const state = await store.events.watcherState();
      if (state?.checkpoints.length === 0) return;
      network.reset(1_000_000 - 20_000 * (network.generation + 1));
    }
    if (step.do === "stepClock") network.clock.step(step.ms);
    if (step.do === "omit") {
      const event = network.emitted.at(-1 - step.back);
      if (event !== undefined) nodes[step.node]!.omits.add(event.txHash);
    }
    if (step.do === "lie") {
      const node = nodes[step.node]!;
      node.bend = (method, answer) => {
        if (method !== "getEvents") return answer;
        node.bend = (_method, answer) => answer;
        return LIES[step.how]!(answer);
      };
    }
    if (step.do === "failCall") {
      const node = nodes[step.node]!;
      let left = step.after;
      node.beforeCall = () => {
        if (left-- > 0) return;
        node.beforeCall = () => {};
        throw FAILURES[step.how]!();
      };
    }
    if (step.do === "failCommit") commitsUntilFailure = { left: step.after, written: step.written };
    if (step.do === "close") {
      for (const count of step.eventsPerLedger) {
        network.close(...Array.from({ length: count }, (_, at) => ({
          decodable: (at + 1) % step.undecodableEvery !== 0,
          contractId: at % 3 === 2 ? OTHER_CONTRACT : CONTRACT,
        })));
      }
    }
  }

  /** Ends all failures: the gateway catches up and rescans, and the client reads to the end. */
  async function recover(): Promise<void> {
    for (const node of nodes) {
      node.lag = 0;
      node.beforeCall = () => {};
      node.bend = (_method, answer) => answer;
    }
    commitsUntilFailure = undefined;
    network.close({});
    for (let turns = 0; (await fixture.watcher.pollFor(5_000)).outcome !== "idle"; turns++) {
      assert.ok(turns < 1_000, "the watcher does not reach the tip");
      network.clock.pass(2_500);
    }
    for (let looks = 0; looks < 16; looks++) {
      network.clock.pass(31_000);
      await fixture.watcher.pollFor(5_000);
    }
    while (await consume(7) === 7);
  }

  return { network, nodes, consumed, generationOf, take, recover, fixture: () => fixture };
}

describe("a client that pages through the history", () => {
  test("gets each event once, in the order of the log, except in recorded gaps, while nodes and the store fail", async () => {
    const seen = { consumed: 0, gaps: 0, epochs: 0 };
    const sizes: fc.Arbitrary<Sizes> = fc.record({
      retention: fc.tuple(fc.integer({ min: 5, max: 80 }), fc.integer({ min: 5, max: 120 })),
      scanLimit: fc.integer({ min: 3, max: 40 }),
      pageEvents: fc.integer({ min: 2, max: 15 }),
      stepEvents: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(sizes, fc.array(step, { minLength: 10, maxLength: 60 }), async (sizes, steps) => {
        const world = await createWorld(sizes);
        for (const step of steps) await world.take(step);
        await world.recover();
        const { network, nodes, consumed, generationOf } = world;
        const { history, store } = world.fixture();

        assert.equal(new Set(consumed).size, consumed.length, "no event comes twice");
        assert.deepEqual(await readAll(history, 1_000), consumed, "a later client reads the same");
        const { gaps, contracts, epoch: current } = (await store.events.watcherState())!;
        const epochOf = new Map([...generationOf].map(([epoch, generation]) => [generation, epoch]));
        const isMissable = ({ generation, ledger, contractId, txHash }: EmittedEvent) =>
          // Nobody can read unread events of a former epoch.
          generation < network.generation || nodes.every(({ omits }) => omits.has(txHash)) ||
          ledger < (contracts[contractId]?.fromLedger ?? Infinity) ||
          ledger > (contracts[contractId]!.toLedger ?? Infinity) ||
          gaps.some((gap) =>
            gap.epoch === epochOf.get(generation) && gap.fromLedger <= ledger && ledger <= gap.toLedger &&
            gap.contractIds.includes(contractId)
          );
        const got = new Set(consumed);
        const missed = network.emitted.filter((event) =>
          event.decodable && !got.has(event.txHash) && !isMissable(event) &&
          // A rescan cannot find events that one node omitted and the other node has pruned.
          !nodes.some(({ omits }) => omits.has(event.txHash))
        );
        assert.deepEqual(missed, []);
        for (const gap of gaps) {
          if (gap.epoch !== current) continue;
          const isHeld = nodes.some(({ oldest }) => oldest <= gap.fromLedger);
          assert.ok(!isHeld, `ledgers ${gap.fromLedger} to ${gap.toLedger} are a gap although a node holds them`);
        }
        seen.consumed += consumed.length;
        seen.gaps += gaps.length;
        seen.epochs += current;
        await store.close();
      }),
      { numRuns: RUNS },
    );
    // The steps must have had effects. Gaps are rare: a small number of runs may have no gap.
    assert.ok(seen.consumed > 10 * RUNS && seen.epochs > 0, JSON.stringify(seen));
    assert.ok(seen.gaps > 0 || !isLong, JSON.stringify(seen));
  });
});
