// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { KeySource, KeyUse } from "../../lib/keys/key_source.ts";
import { createKeyVerifier, type KeyVerdict, type KeyVerifier } from "../../lib/keys/verifier.ts";
import type { KeyRecord } from "../../lib/store/store.ts";
import { createTestClock, type TestClock } from "../test_clock.ts";
import { NOW, testKey } from "./test_keys.ts";

/** A source whose faults and delays a test decides. */
class ScriptedSource implements KeySource {
  readonly location = "test";
  records = new Map<string, KeyRecord>();
  touched: KeyUse[][] = [];
  gets = 0;
  changes = 0;
  fault: Error | undefined;
  /** While set, `get` reads the record at the call, and returns it when this promise resolves. */
  delay: Promise<void> | undefined;

  put(record: KeyRecord): void {
    this.records.set(record.id, record);
    this.changes++;
  }
  async get(id: string) {
    this.gets++;
    if (this.fault) throw this.fault;
    const found = this.records.get(id);
    await this.delay;
    return found;
  }
  isEmpty() {
    return Promise.resolve(this.records.size === 0);
  }
  version() {
    return this.fault ? Promise.reject(this.fault) : Promise.resolve(this.changes);
  }
  touch(uses: KeyUse[]) {
    if (this.fault) return Promise.reject(this.fault);
    this.touched.push(uses);
    for (const { id, lastUsedAt } of uses) this.records.set(id, { ...this.records.get(id)!, lastUsedAt });
    return Promise.resolve();
  }
}

let source: ScriptedSource;
let clock: TestClock;
let problems: string[];
let verifier: KeyVerifier;

beforeEach(() => {
  source = new ScriptedSource();
  clock = createTestClock(NOW);
  problems = [];
  verifier = makeVerifier();
});

function makeVerifier(maxCached = 100): KeyVerifier {
  return createKeyVerifier({ source, clock, onProblem: (message) => problems.push(message), maxCached });
}

/** A key in the source. */
function keyWith(changed: Partial<KeyRecord> = {}): { key: string; record: KeyRecord } {
  const made = testKey(changed);
  source.put(made.record);
  return made;
}

const reason = async (key: string) => {
  const verdict = await verifier.verify(key);
  return "reason" in verdict ? verdict.reason : undefined;
};

function atOnce(verdict: KeyVerdict | Promise<KeyVerdict>): KeyVerdict {
  assert.ok(!(verdict instanceof Promise), "answered only later");
  return verdict;
}

describe("verify", () => {
  test("returns the record of a valid key", async () => {
    const { key, record } = keyWith({ rate: 600 });
    assert.deepEqual(await verifier.verify(key), { record });
  });

  test("returns a different reason for malformed, mistyped, unknown, disabled and expired keys", async () => {
    const { key } = keyWith();
    const other = key.endsWith("0") ? "1" : "0";
    assert.equal(await reason("nonsense"), "malformed");
    assert.equal(await reason(key.slice(0, -1) + other), "checksum");
    assert.equal(await reason(testKey().key), "unknown");
    assert.equal(await reason(keyWith({ disabled: true }).key), "disabled");
    assert.equal(await reason(keyWith({ expiresAt: new Date(NOW).toISOString() }).key), "expired");
  });

  test("does not ask the source about a malformed key", () => {
    assert.deepEqual(atOnce(verifier.verify("nonsense")), { reason: "malformed" });
    assert.equal(source.gets, 0);
  });

  test("returns the reason unknown for a known id with a wrong secret, also when that key is disabled or expired", async () => {
    const { record } = keyWith();
    const stranger = testKey();
    for (const changed of [{}, { disabled: true }, { expiresAt: new Date(NOW - 1).toISOString() }]) {
      source.put({ ...record, ...changed, id: stranger.record.id });
      assert.equal(await reason(stranger.key), "unknown");
    }
  });

  test("rejects while the source fails, and returns the record after the source recovers", async () => {
    const { key, record } = keyWith();
    source.fault = new Error("store is gone");
    await assert.rejects(async () => await verifier.verify(key), /store is gone/);
    source.fault = undefined;
    assert.deepEqual(await verifier.verify(key), { record });
  });

  test("asks the source once for 50 simultaneous requests with one key", async () => {
    const { key, record } = keyWith();
    const verdicts = await Promise.all(Array.from({ length: 50 }, () => verifier.verify(key)));
    assert.ok(verdicts.every((verdict) => "record" in verdict && verdict.record === record));
    assert.equal(source.gets, 1);
  });
});

describe("a verified key in memory", () => {
  test("is returned at once, without asking the source, while refreshes succeed", async () => {
    const { key, record } = keyWith();
    await verifier.refresh();
    await verifier.verify(key);
    for (let second = 0; second < 10; second++) {
      clock.advance(900);
      await verifier.refresh();
      assert.deepEqual(atOnce(verifier.verify(key)), { record });
    }
    assert.equal(source.gets, 1);
  });

  test("is dropped when the keys change", async () => {
    const { key, record } = keyWith();
    await verifier.refresh();
    await verifier.verify(key);
    source.put({ ...record, disabled: true });
    clock.advance(400);
    await verifier.refresh();
    assert.equal(await reason(key), "disabled");
    source.put(record);
    await verifier.refresh();
    assert.deepEqual(await verifier.verify(key), { record });
  });

  test("is used for less than one second after the last refresh", async () => {
    const { key, record } = keyWith();
    await verifier.refresh();
    await verifier.verify(key);
    source.put({ ...record, disabled: true });
    clock.advance(999);
    assert.deepEqual(atOnce(verifier.verify(key)), { record });
    clock.advance(1);
    assert.equal(await reason(key), "disabled");
  });

  test("is used for less than one second after the last refresh, also when the wall clock is set", async () => {
    for (const stepMs of [-3_600_000, -900, 900, 3_600_000]) {
      const { key, record } = keyWith();
      await verifier.refresh();
      await verifier.verify(key);
      source.put({ ...record, disabled: true });
      clock.step(stepMs);
      assert.deepEqual(atOnce(verifier.verify(key)), { record });
      clock.advance(1_000);
      assert.equal(await reason(key), "disabled");
    }
  });

  test("expires to the millisecond", async () => {
    const { key, record } = keyWith({ expiresAt: new Date(NOW + 500).toISOString() });
    await verifier.refresh();
    await verifier.verify(key);
    clock.advance(499);
    assert.deepEqual(atOnce(verifier.verify(key)), { record });
    clock.advance(1);
    assert.deepEqual(atOnce(verifier.verify(key)), { reason: "expired" });
  });

  test("is not stored when the source read its record before a change and answered after it", async () => {
    const { key, record } = keyWith();
    await verifier.refresh();
    let answer = () => {};
    source.delay = new Promise((resolve) => answer = resolve);
    const verdict = verifier.verify(key);
    source.put({ ...record, disabled: true });
    await verifier.refresh();
    answer();
    assert.deepEqual(await verdict, { record }, "read before the change");
    source.delay = undefined;
    assert.equal(await reason(key), "disabled");
  });

  test("is requested again when the source's answer to an earlier request is overdue by one second", async () => {
    const { key, record } = keyWith();
    let answer = () => {};
    source.delay = new Promise((resolve) => answer = resolve);
    const first = verifier.verify(key);
    clock.advance(999);
    const joined = verifier.verify(key);
    source.put({ ...record, disabled: true });
    clock.advance(1);
    const late = verifier.verify(key);
    const later = verifier.verify(key);
    answer();
    assert.deepEqual([await first, await joined], [{ record }, { record }], "asked before it was disabled");
    assert.deepEqual([await late, await later], [{ reason: "disabled" }, { reason: "disabled" }]);
    assert.equal(source.gets, 2);
  });

  test("is never a refused key: the next request asks the source again", async () => {
    const { key, record } = testKey();
    await verifier.refresh();
    assert.equal(await reason(key), "unknown");
    source.records.set(record.id, record);
    assert.deepEqual(await verifier.verify(key), { record });
  });

  test("stays in memory while it is in use, although 100 other keys are verified and the cache holds 10", async () => {
    verifier = makeVerifier(10);
    await verifier.refresh();
    const inUse = keyWith();
    await verifier.verify(inUse.key);
    for (let i = 0; i < 100; i++) {
      const { key, record } = testKey();
      source.records.set(record.id, record);
      await verifier.verify(key);
      assert.deepEqual(atOnce(verifier.verify(inUse.key)), { record: inUse.record });
    }
    assert.equal(source.gets, 101);
  });
});

describe("the last use of a key", () => {
  /** Lets time pass in small steps, and refreshes as a running gateway does. */
  async function pass(ms: number, key?: string): Promise<void> {
    for (const endMs = clock.now() + ms; clock.now() < endMs;) {
      clock.advance(Math.min(500, endMs - clock.now()));
      if (key !== undefined) await verifier.verify(key);
      await verifier.refresh();
    }
  }

  test("is written at most once a minute for a key in steady use", async () => {
    const { key, record } = keyWith();
    await verifier.refresh();
    await pass(180_000, key);
    const writes = source.touched.flat();
    assert.deepEqual(writes.map(({ id }) => id), [record.id, record.id, record.id]);
    assert.equal(writes[0]!.lastUsedAt, "2026-03-01T12:00:00.500Z");
    assert.equal(writes[1]!.lastUsedAt, "2026-03-01T12:01:00.500Z");
  });

  test("is written at most once a minute also while keys change all the time", async () => {
    const { key, record } = keyWith();
    for (let step = 0; step < 100; step++) {
      source.changes++;
      await pass(1_000, key);
    }
    assert.deepEqual(source.touched.flat().map(({ id }) => id), [record.id, record.id]);
  });

  test("is written one minute after the last use in the record", async () => {
    const { key } = keyWith({ lastUsedAt: new Date(NOW - 30_000).toISOString() });
    await pass(20_000, key);
    assert.deepEqual(source.touched, []);
    await pass(20_000, key);
    assert.equal(source.touched.flat().length, 1);
  });

  test("is written again when the record's last use is in the future, because the clock was set back", async () => {
    const { key } = keyWith({ lastUsedAt: new Date(NOW + 40 * 86_400_000).toISOString() });
    await verifier.refresh();
    await pass(6_000, key);
    assert.deepEqual(source.touched.flat().map(({ lastUsedAt }) => lastUsedAt), ["2026-03-01T12:00:00.500Z"]);
  });

  test("is not written for a refused key", async () => {
    const { key } = keyWith({ disabled: true });
    await pass(60_000, key);
    assert.deepEqual(source.touched, []);
  });

  test("is written for many keys in one batch of at most 500", async () => {
    verifier = makeVerifier(2_000);
    const keys = Array.from({ length: 1_100 }, () => keyWith().key);
    await Promise.all(keys.map((key) => verifier.verify(key)));
    await pass(6_000);
    assert.deepEqual(source.touched.map((uses) => uses.length), [500, 500, 100]);
  });

  test("stays in memory until the source stores it, and the failure is reported once", async () => {
    const { key, record } = keyWith();
    await verifier.verify(key);
    source.fault = new Error("store is gone");
    await pass(10_000);
    assert.equal(problems.length, 1);
    assert.ok(!problems[0]!.includes(key));
    source.fault = undefined;
    await pass(1_000);
    assert.deepEqual(source.touched.flat(), [{ id: record.id, lastUsedAt: "2026-03-01T12:00:00.000Z" }]);
  });

  test("is written when the verifier stops", async () => {
    const { key } = keyWith();
    await verifier.verify(key);
    await verifier.stop();
    assert.equal(source.touched.flat().length, 1);
  });
});

describe("a started verifier", () => {
  test("refreshes by itself until it is stopped", async () => {
    let polled = () => {};
    const twice = new Promise<void>((resolve) => {
      let polls = 0;
      polled = () => void (++polls === 2 && resolve());
    });
    const version = source.version.bind(source);
    source.version = () => {
      polled();
      return version();
    };
    verifier = createKeyVerifier({ source, clock, onProblem() {}, pollMs: 1 });
    verifier.start();
    await twice;
    await verifier.stop();
  });
});
