import assert from "node:assert/strict";
import { createHistory, type History } from "../../lib/events/history.ts";
import type { Notice, Trouble } from "../../lib/events/notices.ts";
import { createWatcher, type WatcherParts } from "../../lib/events/watcher.ts";
import { askNewest } from "../../lib/stellar/fresh_read.ts";
import { createHead } from "../../lib/stellar/head.ts";
import type { Fetch } from "../../lib/stellar/rpc/transport.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store, WatcherStep } from "../../lib/store/store.ts";
import { fakeClock } from "../stellar/rpc/stub_rpc.ts";
import {
  clientOf,
  CONTRACT,
  createSimulatedNetwork,
  decodeSimulated,
  type SimulatedNetwork,
  type SimulatedNode,
} from "./simulated_node.ts";

export const OTHER_CONTRACT = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
export const START_MS = Date.parse("2026-01-01T00:00:00Z");

/** A network with one node, on its own clock. */
export function simulate(
  options: { first?: number; ledgerMs?: number; retention?: number; scanLimit?: number; maxLimit?: number } = {},
) {
  const network = createSimulatedNetwork(fakeClock(START_MS), options.first, options.ledgerMs);
  return { network, node: network.node(options), clock: network.clock };
}

/** A store that reports each append and can fail. */
export function observeStore(store: Store, beforeAppend: (step: WatcherStep) => void = () => {}) {
  const steps: WatcherStep[] = [];
  const events = Object.create(store.events, {
    append: {
      value: async (step: WatcherStep) => {
        beforeAppend(step);
        const logged = await store.events.append(step);
        steps.push(structuredClone(step));
        return logged;
      },
    },
  });
  const observed: Store = Object.create(store, { events: { value: events } });
  return { store: observed, steps };
}

export interface FixtureOptions extends Partial<WatcherParts> {
  nodes?: SimulatedNode[];
  /** The transport to the nodes; in this process when absent. */
  fetch?: Fetch;
  beforeAppend?: (step: WatcherStep) => void;
}

/** A gateway's watcher and history on simulated nodes, with its reports. */
export async function createFixture(network: SimulatedNetwork, options: FixtureOptions = {}) {
  const { beforeAppend, nodes = [network.node()], store: given, fetch, ...rest } = options;
  const { clock } = network;
  const problems: (Notice | Trouble)[] = [];
  const bareStore = given as Store | undefined ?? await openStore("memory:");
  const { store, steps } = observeStore(bareStore, beforeAppend);
  const stored = await store.events.watcherState();
  const head = createHead({
    clock,
    stored: stored && { sequence: stored.latestLedger, closeTime: stored.latestLedgerCloseTime },
    ask: (node) => askNewest(rpc, { node }),
  });
  const rpc = clientOf(nodes, head, clock, fetch);
  const watcher = createWatcher({
    ...{ rpc, head, clock, epoch: stored?.epoch },
    contractIds: [CONTRACT],
    decode: decodeSimulated,
    holder: `process ${++processes}`,
    pollMs: 1_000,
    onProblem: (problem) => problems.push(problem),
    ...rest,
    store,
  });
  const history = createHistory({ store, head });
  return {
    ...{ network, nodes, node: nodes[0]!, clock, problems, bareStore, store, steps, head, rpc, history, watcher },
    turn: () => watcher.pollFor(10_000),
    kinds: () => problems.map(({ kind }) => kind),
    state: async () => (await store.events.watcherState())!,
    gaps: async () =>
      (await store.events.watcherState())!.gaps.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]),
  };
}
let processes = 0;

export type Fixture = Awaited<ReturnType<typeof createFixture>>;

/** A new gateway process on the same store. A killed gateway's lease ends after half a minute. */
export async function restart(fixture: Fixture, options: FixtureOptions = {}): Promise<Fixture> {
  await fixture.watcher.stop();
  return await createFixture(fixture.network, { nodes: fixture.nodes, ...options, store: fixture.bareStore });
}

/** Turns, some seconds apart, until the watcher is at the node's newest ledger. */
export async function untilAtTip({ turn, clock }: Pick<Fixture, "turn" | "clock">): Promise<void> {
  let result = await turn();
  for (let turns = 0; result.outcome !== "idle"; turns++) {
    assert.ok(turns < 50, `the watcher does not reach the tip: ${JSON.stringify(result)}`);
    clock.pass(2_500);
    result = await turn();
  }
}

/** Three turns, some seconds apart. */
export async function threeTurns({ turn, clock }: Pick<Fixture, "turn" | "clock">): Promise<void> {
  for (let turns = 0; turns < 3; turns++) {
    await turn();
    clock.pass(2_500);
  }
}

/** A gateway that has read so many ledgers with one event each, and has stored a ledger's hash. */
export async function follow(
  { network, node }: Pick<ReturnType<typeof simulate>, "network" | "node">,
  ledgers: number,
) {
  for (let ledger = 0; ledger < ledgers; ledger++) network.close({});
  const fixture = await createFixture(network, { nodes: [node] });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
  assert.ok((await fixture.state()).checkpoints.length > 0);
  return { network, node, fixture };
}

/** The transaction hashes of all events that history shows now, in the order of the log. */
export async function readAll(history: History, limit = 1_000): Promise<string[]> {
  const hashes: string[] = [];
  let cursor: string | undefined;
  while (true) {
    const page = await history.page({ limit, cursor });
    hashes.push(...page.events.map(({ txHash }) => txHash));
    if (page.events.length < limit) return hashes;
    cursor = page.cursor;
  }
}

export const hashesOf = (emitted: { txHash: string }[]) => emitted.map(({ txHash }) => txHash);

export const empty = (count: number) => Array.from({ length: count }, () => ({}));
