// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createEntryReader } from "../../lib/stellar/entries.ts";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";
import { createHead } from "../../lib/stellar/head.ts";
import { until } from "../until.ts";
import { fakeClock, stubRpc } from "./rpc/stub_rpc.ts";

/** A reader over a node that holds an entry for every key that does not start with `absent`. */
function reader(options: { ledger?: (call: number) => number; maxEntries?: number; isNew?: boolean } = {}) {
  const clock = fakeClock();
  const head = createHead({ clock, stored: options.isNew ? undefined : { sequence: 90, closeTime: 1_800_000_000 } });
  const asked: string[][] = [];
  const rpc = stubRpc({
    async getLedgerEntries(keys) {
      asked.push(keys);
      const call = asked.length;
      await clock.wait(5);
      const latestLedger = options.ledger?.(call) ?? 100;
      const present = keys.filter((key) => !key.startsWith("absent"));
      head.observe({ node: 0, sequence: latestLedger });
      const entries = present.map((key) => ({ key, xdr: `${key}@${latestLedger}`, lastModifiedLedgerSeq: 1 }));
      return { latestLedger, entries };
    },
    getHealth: () => Promise.reject(new RpcError("getHealth", -32603, "not now")),
  });
  const { maxEntries } = options;
  return { reader: createEntryReader({ rpc, head, clock, maxEntries }), head, asked, clock };
}

const names = (count: number, prefix = "key") => Array.from({ length: count }, (_, i) => `${prefix}${i}`);

async function upstream(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => assert.fail("it resolved"), (error) => error);
  assert.ok(error instanceof GatewayError && error.code === "upstream_error", String(error));
  return error.message;
}

describe("reading ledger entries", () => {
  test("returns entries in the order of the keys, and undefined for a missing entry", async () => {
    const { reader: entries } = reader();
    const answer = await entries.read(["b", "absent", "a", "b"]);
    assert.deepEqual(answer.entries.map((entry) => entry?.xdr), ["b@100", undefined, "a@100", "b@100"]);
    assert.equal(answer.ledger, 100);
  });

  test("joins ten thousand reads of a thousand devices into at most one call for sixty devices", async () => {
    const { reader: entries, asked } = reader();
    const instances = names(3, "instance");
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => {
      const device = i % 1_000;
      return entries.read([...instances, `device${device}`, `policy${device}`, `balance${device}`]);
    }));
    assert.ok(asked.length <= Math.floor(1_000 / 60), `${asked.length} calls`);
    const keys = asked.flat();
    assert.equal(new Set(keys).size, keys.length, "a key was asked for twice");
    assert.ok(asked.every((call) => call.length <= 200));
  });

  test("adds no delay to sequential reads", async () => {
    const { reader: entries, asked, clock } = reader();
    const beganMs = clock.monotonicMs();
    for (const key of names(20)) await entries.read([key]);
    assert.deepEqual([asked.length, clock.monotonicMs() - beganMs], [20, 20 * 5]);
  });

  test("also joins reads that arrive one by one", async () => {
    const { reader: entries, asked, clock } = reader();
    const reads: Promise<unknown>[] = [];
    for (let i = 0; i < 1_000; i += 1) {
      const device = i * 7 % 1_000;
      reads.push(entries.read([`device${device}`, `policy${device}`, `balance${device}`]));
      if (i % 10 === 0) await clock.wait(1);
    }
    await Promise.all(reads);
    assert.ok(asked.length <= 24, `${asked.length} calls`);
  });

  test("requests each key, also a missing one, once in a ledger, and again in the next ledger", async () => {
    const { reader: entries, asked, head } = reader({ ledger: (call) => 99 + call });
    head.observe({ node: 0, sequence: 100 });
    await entries.read(["a", "absent"]);
    await entries.read(["absent", "a"]);
    assert.equal(asked.length, 1);
    assert.deepEqual(entries.readNow(["a", "absent"])?.entries.map((entry) => entry?.xdr), ["a@100", undefined]);
    head.observe({ node: 0, sequence: 101 });
    assert.equal(entries.readNow(["a"]), undefined);
    assert.deepEqual((await entries.read(["a"])).entries[0]?.xdr, "a@101");
  });

  test("drops a cached entry after 6 s, also without a new ledger", async () => {
    const { reader: entries, asked, clock, head } = reader();
    head.observe({ node: 0, sequence: 100 });
    await entries.read(["a"]);
    clock.pass(6_001);
    assert.equal(entries.readNow(["a"]), undefined);
    await entries.read(["a"]);
    assert.equal(asked.length, 2);
  });

  test("counts the age of an answer from its request", async () => {
    const clock = fakeClock();
    const head = createHead({ clock, stored: { sequence: 100, closeTime: clock.now() / 1_000 } });
    const answers: (() => void)[] = [];
    const rpc = stubRpc({
      async getLedgerEntries() {
        const { promise, resolve } = Promise.withResolvers<void>();
        answers.push(resolve);
        await promise;
        return { latestLedger: 100, entries: [] };
      },
      getHealth: () => Promise.reject(new RpcError("getHealth", -32603, "not now")),
    });
    const entries = createEntryReader({ rpc, head, clock });
    const before = entries.read(["a"]);
    await until(() => answers.length === 1);
    clock.pass(20_000);
    const after = entries.read(["a"]);
    answers[0]!();
    await before;
    assert.equal(entries.readNow(["a"]), undefined);
    await until(() => answers.length === 2);
    answers[1]!();
    await after;
    assert.deepEqual(entries.readNow(["a"])?.entries, [undefined]);
  });

  test("a fresh read skips the cache", async () => {
    const { reader: entries, asked, head } = reader();
    head.observe({ node: 0, sequence: 100 });
    await entries.read(["a"]);
    await entries.read(["a"], { fresh: true });
    assert.equal(asked.length, 2);
  });

  test("retries when a node lags behind the minimum ledger", async () => {
    const { reader: entries, asked, head } = reader({ ledger: (call) => call < 3 ? 90 : 100 });
    head.observe({ node: 0, sequence: 100, closeTime: 1_800_000_050 });
    head.show(100);
    assert.equal((await entries.read(["a"])).entries[0]?.xdr, "a@100");
    assert.equal(asked.length, 3);
  });

  test("fails when the node keeps lagging", async () => {
    const { reader: entries, asked, head } = reader({ ledger: () => 90 });
    head.observe({ node: 0, sequence: 100, closeTime: 1_800_000_050 });
    head.show(100);
    assert.match(await upstream(entries.read(["a"])), /shows ledger 90, while ledger 100 has been seen/);
    assert.equal(asked.length, 25);
  });

  test("fails on a new store when no two answers of the node agree", async () => {
    const { reader: entries, asked } = reader({ isNew: true, ledger: (call) => call % 2 === 0 ? 900_000_000 : 90 });
    assert.match(
      await upstream(entries.read(["a"])),
      /^the RPC node shows ledger \d+, and no two answers have agreed on the network's ledger yet$/,
    );
    assert.equal(asked.length, 26);
  });

  test("retries after an answer of an implausible ledger, and does not show its entries (T5)", async () => {
    const { reader: entries, head, asked } = reader({ ledger: (call) => call === 1 ? 2 ** 31 - 1 : 100 });
    head.observe({ node: 0, sequence: 100, closeTime: 1_800_000_050 });
    head.show(100);
    assert.equal((await entries.read(["a"])).entries[0]?.xdr, "a@100");
    assert.equal(head.sequence, 100);
    assert.equal(asked.length, 2);
  });

  test("retries after a lagging answer and then an implausible one", async () => {
    const ledgers = [90, 2 ** 31 - 1, 100];
    const { reader: entries, head } = reader({ ledger: (call) => ledgers[call - 1]! });
    head.observe({ node: 0, sequence: 100, closeTime: 1_800_000_050 });
    head.show(100);
    assert.equal((await entries.read(["a"])).ledger, 100);
  });

  test("combines several calls only when they are of one ledger", async () => {
    const { reader: entries } = reader({ ledger: (call) => call === 1 ? 100 : 101 });
    const answer = await entries.read(names(350));
    assert.equal(answer.ledger, 101);
    assert.ok(answer.entries.every((entry) => entry?.xdr.endsWith("@101")));
  });

  test("fails when each call of a read gets another ledger", async () => {
    const { reader: entries } = reader({ ledger: (call) => 100 + call });
    assert.match(await upstream(entries.read(names(350))), /could not be read as of one ledger in 3 tries/);
  });

  test("rejects all joined reads with an error of the node, and does not cache the error", async () => {
    const clock = fakeClock();
    let calls = 0;
    const rpc = stubRpc({
      getLedgerEntries() {
        calls += 1;
        if (calls === 1) return Promise.reject(new RpcError("getLedgerEntries", -32603, "database is locked"));
        return Promise.resolve({ latestLedger: 5, entries: [] });
      },
    });
    const head = createHead({ clock, stored: { sequence: 5, closeTime: 1_800_000_000 } });
    const entries = createEntryReader({ rpc, head, clock });
    const [first, second] = await Promise.allSettled([entries.read(["a"]), entries.read(["b"])]);
    assert.equal(first.status, "rejected");
    assert.equal(second.status, "rejected");
    assert.deepEqual((await entries.read(["a"])).entries, [undefined]);
  });

  test("caches no more entries than its limit", async () => {
    const { reader: entries, head } = reader({ maxEntries: 10 });
    head.observe({ node: 0, sequence: 100 });
    await entries.read(names(30));
    const held = names(30).filter((key) => entries.readNow([key]) !== undefined);
    assert.equal(held.length, 10);
  });
});
