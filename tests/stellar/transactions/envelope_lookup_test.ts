// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createHead } from "../../../lib/stellar/head.ts";
import type { RpcClient } from "../../../lib/stellar/rpc/client.ts";
import type { TransactionAnswer } from "../../../lib/stellar/rpc/schemas.ts";
import { lookUpEnvelopes } from "../../../lib/stellar/transactions/envelope_lookup.ts";
import { fakeClock, stubRpc } from "../rpc/stub_rpc.ts";
import { memoryJournal } from "./memory_submission_log.ts";
import { ENVELOPE, START_SECONDS } from "./submit_stage.ts";

const LEDGER = 100;

interface Asked {
  hash: string;
  node: number;
  /** How often this hash was asked for before. */
  before: number;
}

/** Nodes of which each answers what `find` says; a call without a node in mind goes to the first one that is up. */
function stage(
  find: (asked: Asked) => Partial<TransactionAnswer>,
  { nodes = 2, up = [0, 1] }: { nodes?: number; up?: number[] } = {},
) {
  const clock = fakeClock(START_SECONDS * 1000);
  const head = createHead({ clock, stored: { sequence: LEDGER, closeTime: START_SECONDS } });
  const asked: Asked[] = [];
  const getTransaction: RpcClient["getTransaction"] = (hash, { node: wanted, answered } = {}) => {
    const node = wanted !== undefined && up.includes(wanted) ? wanted : up[0]!;
    answered?.(node, "current");
    const one = { hash, node, before: asked.filter((other) => other.hash === hash).length };
    asked.push(one);
    const newest = { latestLedger: LEDGER, latestLedgerCloseTime: START_SECONDS };
    const stamp = { ...newest, oldestLedger: 1, oldestLedgerCloseTime: 1 };
    return Promise.resolve({ status: "NOT_FOUND", txHash: hash, ...stamp, ...find(one) } as TransactionAnswer);
  };
  const { submissionLog, notes, ledgers } = memoryJournal();
  const rpc = stubRpc({ getTransaction, getHealth: () => Promise.reject(new Error("no")) });
  const parts = { rpc, head, clock, submissionLog, nodes };
  const lookUp = (...envelopes: { hash: string; sinceLedger?: number }[]) => lookUpEnvelopes(parts, envelopes, LEDGER);
  return { lookUp, asked, notes, ledgers };
}

const applied = { status: "SUCCESS" as const, ledger: 90, envelopeXdr: ENVELOPE };
const since = (hash: string, sinceLedger: number | undefined = 50) => ({ hash, sinceLedger });

describe("the lookup of envelopes with one sequence number", () => {
  test("starts with the newest, and stops at the applied one", async () => {
    const { lookUp, asked } = stage(({ hash }) => hash === "b" ? applied : {});
    const { envelope, ...found } = await lookUp(since("c"), since("b"), since("a")) as { envelope: Uint8Array };
    assert.deepEqual(found, { status: "applied", hash: "b", ledger: 90 });
    assert.ok(envelope.length > 0);
    assert.deepEqual(asked.map(({ hash }) => hash), ["c", "b"]);
  });

  test("returns failed for all when one of them failed in a ledger", async () => {
    const { lookUp } = stage(({ hash }) => hash === "a" ? { status: "FAILED", ledger: 90 } : {});
    assert.deepEqual(await lookUp(since("b"), since("a")), { status: "failed" });
  });

  test("returns missing after the answers of two nodes (I14)", async () => {
    const { lookUp, asked } = stage(() => ({}));
    assert.deepEqual(await lookUp(since("b"), since("a")), { status: "missing", unknown: [] });
    assert.deepEqual(asked.map(({ hash, node }) => `${hash}${node}`), ["b0", "a0", "b1", "a1"]);
  });

  test("finds an envelope at the second node that the first one does not know (I14)", async () => {
    const { lookUp } = stage(({ node }) => node === 1 ? applied : {});
    assert.equal((await lookUp(since("b"), since("a"))).status, "applied");
  });

  test("accepts two answers of the only node", async () => {
    const { lookUp, asked } = stage(() => ({}), { nodes: 1, up: [0] });
    assert.deepEqual(await lookUp(since("a")), { status: "missing", unknown: [] });
    assert.equal(asked.length, 2);
  });

  test("does not accept two answers of one node when there are two", async () => {
    const { lookUp } = stage(() => ({}), { up: [0] });
    await assert.rejects(lookUp(since("a")), { code: "upstream_error", retry: "same" });
  });

  test("returns unknown for envelopes that are older than a node's oldest ledger", async () => {
    const { lookUp } = stage(({ node }) => ({ oldestLedger: node === 1 ? 52 : 1 }));
    const found = await lookUp(since("c", 51), since("b", 50), { hash: "a" });
    assert.deepEqual(found, { status: "missing", unknown: ["b", "a"] });
  });

  test("ignores a lagging node's answer", async () => {
    const { lookUp } = stage(() => ({ latestLedger: LEDGER - 1 }));
    await assert.rejects(lookUp(since("a")), { code: "upstream_error" });
  });

  test("uses a stored outcome or an event in the log, also when the nodes have pruned the ledger", async () => {
    const { lookUp, notes, ledgers } = stage(() => ({ oldestLedger: LEDGER }));
    notes.set("b", { hash: "b", validUntil: 1, outcome: { status: "success", ledger: 88 } });
    const found = { status: "applied", envelope: undefined };
    assert.deepEqual(await lookUp(since("b"), since("a")), { ...found, hash: "b", ledger: 88 });
    notes.clear();
    ledgers.set("a", 87);
    assert.deepEqual(await lookUp(since("b"), since("a")), { ...found, hash: "a", ledger: 87 });
    ledgers.clear();
    notes.set("a", { hash: "a", validUntil: 1, outcome: { status: "rejected" } });
    assert.deepEqual(await lookUp(since("a")), { status: "missing", unknown: ["a"] });
  });
});
