// needs: neutral
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Keypair } from "@stellar/stellar-sdk";
import { movedAsset, speaksOfAsset } from "../../lib/escrow/assets/moved_asset.ts";
import { CONTRACT_EVENT_TYPES, decodeEvent } from "../../lib/escrow/events.ts";
import type { Operation } from "../../lib/escrow/operations/operations.ts";
import { createHistory, type History } from "../../lib/events/history.ts";
import type { PublicEvent } from "../../lib/store/event.ts";
import { createWatcher, type Watcher } from "../../lib/events/watcher.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { type GatewayView, type Sandbox, signed, startSandbox } from "../escrow/sandbox.ts";

const CARD = "ab".repeat(32);

let sandbox: Sandbox;
let gateway: GatewayView;
let store: Store;
let watcher: Watcher;
let history: History;
const problems: string[] = [];

before(async () => {
  sandbox = await startSandbox();
  gateway = sandbox.gateway();
  store = await openStore("memory:");
  watcher = newWatcher(store);
  history = createHistory({ store, head: gateway.head });
});
after(async () => {
  await watcher.stop();
  await store.close();
  await sandbox.network.stop();
});

function newWatcher(store: Store, parts: Partial<Parameters<typeof createWatcher>[0]> = {}): Watcher {
  const { contracts, clock } = sandbox;
  return createWatcher({
    ...{ rpc: gateway.rpc, head: gateway.head, store, clock, holder: "first", pollMs: 1_000 },
    contractIds: Object.values(contracts),
    decode: (event) => decodeEvent(event, contracts),
    movements: { isOne: speaksOfAsset, assetIn: (event, transaction) => movedAsset(event, transaction, contracts) },
    onProblem: ({ message }) => problems.push(message),
    ...parts,
  });
}

/** Prepares, signs and submits; returns the expected event's common fields. */
async function act(who: Keypair, operation: Operation): Promise<{ txHash: string; ledger: number }> {
  const { transactions } = gateway.escrow;
  const prepared = await transactions.prepare({ source: who.publicKey(), operation });
  const { hash, ledger } = await transactions.submit(signed(prepared.xdr, sandbox.network.passphrase, who));
  return { txHash: hash, ledger };
}

/** The life of a card. Each step has the type of its expected event and that event's fields. */
function life(): [who: Keypair, operation: Operation, type: PublicEvent["type"], fields: Partial<PublicEvent>][] {
  const { owner, agent: agentKey, merchant: merchantKey, asset } = sandbox;
  const [agent, merchant, deviceHash] = [agentKey.publicKey(), merchantKey.publicKey(), CARD];
  const of = { deviceHash };
  const policy = { ...of, agent, asset };
  const moved = (amount: string) => ({ ...of, asset, amount });
  const paid = { ...moved("30"), merchant };
  return [
    [owner, { kind: "registerDevice", ...of, agent }, "device.registered", { ...of, agent }],
    [owner, { kind: "registerAgent", ...policy, maxAmount: "0" }, "agent.registered", policy],
    [owner, { kind: "fundEscrow", ...moved("100") }, "escrow.funded", moved("100")],
    [agentKey, { kind: "authorize", ...paid }, "payment.authorized", paid],
    [merchantKey, { kind: "claim", asset }, "payment.claimed", { merchant, amount: "30", asset }],
    [owner, { kind: "defundEscrow", ...moved("20") }, "escrow.defunded", moved("20")],
    [owner, { kind: "revokeAgent", ...of }, "agent.revoked", of],
    [owner, { kind: "sweepEscrow", ...policy }, "escrow.swept", moved("50")],
    [owner, { kind: "revokeDevice", ...of }, "device.revoked", of],
  ];
}

/** The contract that emits events of a type. */
function contractOf(type: string): string {
  const { deviceRegistry, agentRegistry, paymentEscrow } = sandbox.contracts;
  return type.startsWith("device.") ? deviceRegistry : type.startsWith("agent.") ? agentRegistry : paymentEscrow;
}

// One story: each test continues where the test before ended.
describe("the events of the real contracts on the sandbox network", () => {
  let cursor: string;

  test("are an empty history at first, with the network's newest ledger as latestLedger", async () => {
    assert.equal((await watcher.pollFor(10_000)).outcome, "idle");
    const page = await history.page({ limit: 100 });
    assert.deepEqual(page.events, []);
    assert.equal(page.latestLedger, sandbox.network.latestLedger().sequence);
    cursor = page.cursor;
  });

  test("are all nine types in the life of a card, in order, with the fields of their types", async () => {
    const expected: unknown[] = [];
    for (const [who, operation, type, fields] of life()) {
      const done = await act(who, operation);
      const ledgerClosedAt = new Date(gateway.head.closeTime * 1_000).toISOString().replace(".000Z", "Z");
      expected.push({ type, contractId: contractOf(type), ...fields, ...done, ledgerClosedAt });
      sandbox.pass(5);
    }
    assert.equal((await watcher.pollFor(10_000)).outcome, "idle");
    const { events } = await history.page({ cursor, limit: 100 });
    assert.deepEqual(events.map(({ id: _id, ...rest }) => rest), expected);
    assert.deepEqual(new Set(events.map(({ type }) => type)), new Set(CONTRACT_EVENT_TYPES));
    assert.equal(new Set(events.map(({ id }) => id)).size, 9);
  });

  test("are the same when the client reads one event per page", async () => {
    const { events } = await history.page({ cursor, limit: 100 });
    const one: PublicEvent[] = [];
    for (let at = cursor;;) {
      const page = await history.page({ cursor: at, limit: 1 });
      one.push(...page.events);
      at = page.cursor;
      if (page.events.length === 0) break;
    }
    assert.deepEqual(one, events);
  });

  test("cost one call for a poll at the latest ledger, and the node accepts its own cursor", async () => {
    sandbox.counts.clear();
    assert.deepEqual(await watcher.pollFor(10_000), { outcome: "idle", events: 0 });
    assert.deepEqual([...sandbox.counts], [["getEvents", 1]]);
  });

  test("are the same, with the same ids, after a backfill into a new store", async () => {
    const other = await openStore("memory:");
    const again = newWatcher(other, { holder: "again", pageEvents: 2, stepEvents: 1 });
    assert.equal((await again.pollFor(10_000)).outcome, "idle");
    const backfilled = await createHistory({ store: other, head: gateway.head }).page({ limit: 100 });
    assert.deepEqual(backfilled.events, (await history.page({ limit: 100 })).events);
    await other.close();
  });

  test("cause no problem report", () => assert.deepEqual(problems, []));
});
