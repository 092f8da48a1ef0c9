// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLazyGateway } from "../../cli/lazy_gateway.ts";
import { readDeployConfig } from "../../cli/read_config.ts";
import type { Gateway } from "../../lib/gateway/gateway.ts";
import { createLog } from "../../lib/log.ts";

const PEER = { remoteAddress: "198.51.100.7" };
const request = () => new Request("http://gateway.test/v1/health");

/** A gateway that can be opened after so many failures, and counts what is done with it. */
function lazy(failures: number) {
  const seen = { opened: 0, turns: [] as number[], tidied: 0, flushed: 0, looked: 0, log: "", monotonicMs: 1_000_000 };
  const gateway: Gateway = {
    fetch: () => new Response("served"),
    networkChecked: Promise.resolve(),
    start: () => assert.fail("nothing runs by itself"),
    turn: (boundMs) => Promise.resolve(void seen.turns.push(boundMs)),
    tidy: () => Promise.resolve(void seen.tidied++),
    flush: () => Promise.resolve(void seen.flushed++),
    lookAround: () => Promise.resolve(void seen.looked++),
    drain: () => assert.fail("nothing is stopped"),
    requestsInFlight: 0,
    stop: () => assert.fail("nothing is stopped"),
  };
  const lazyGateway = createLazyGateway({
    async open() {
      await Promise.resolve();
      if (seen.opened++ < failures) throw new Error("the store is away");
      return gateway;
    },
    log: createLog({ format: "json", level: "debug", now: () => 0, write: (line) => seen.log += line }),
    monotonicMs: () => seen.monotonicMs,
  });
  return { seen, lazyGateway };
}

describe("a gateway that opens at its first request", () => {
  test("opens once for concurrent requests, and not before", async () => {
    const { seen, lazyGateway } = lazy(0);
    assert.equal(seen.opened, 0);
    const responses = await Promise.all([1, 2, 3].map(() => lazyGateway.fetch(request(), PEER)));
    for (const response of responses) assert.equal(await response.text(), "served");
    await lazyGateway.turn();
    await lazyGateway.tidy();
    assert.deepEqual([seen.opened, seen.turns, seen.tidied, seen.log], [1, [50_000], 1, ""]);
  });

  test("answers 503 when it cannot open, logs that once for all waiting requests, and retries", async () => {
    const { seen, lazyGateway } = lazy(1);
    const [first, second] = await Promise.all([lazyGateway.fetch(request(), PEER), lazyGateway.fetch(request(), PEER)]);
    assert.deepEqual([first.status, second.status, first.headers.get("retry-after")], [503, 503, "5"]);
    assert.match(first.headers.get("x-request-id")!, /^req_/);
    assert.equal((await first.json()).error.code, "unavailable");
    assert.deepEqual(seen.log.split("\n").length, 2);
    assert.match(seen.log, /"level":"error".*the store is away/);
    assert.equal(await (await lazyGateway.fetch(request(), PEER)).text(), "served");
  });

  test("does not reject a turn when it cannot open, and retries at the next turn", async () => {
    const { seen, lazyGateway } = lazy(1);
    await lazyGateway.turn();
    assert.deepEqual(seen.turns, []);
    await lazyGateway.turn();
    assert.deepEqual(seen.turns, [50_000]);
  });

  test("flushes its memory and reads new ledgers at most every second, with requests", async () => {
    const { seen, lazyGateway } = lazy(0);
    for (const [atMs, flushed] of [[0, 1], [999, 1], [1_000, 2]] as const) {
      seen.monotonicMs = 1_000_000 + atMs;
      await lazyGateway.fetch(request(), PEER);
      assert.deepEqual([seen.flushed, seen.looked], [flushed, flushed]);
    }
  });
});

describe("the settings of a deployed gateway", () => {
  test("use the platform's own database by default", () => {
    const variables: Record<string, string>[] = [{}, { SERVICE_API_STORE: "" }, { SERVICE_API_STORE: "deno-kv:" }];
    for (const env of variables) assert.equal(readDeployConfig(env).store, "deno-kv:");
  });

  for (const store of ["sqlite:gateway.db", "memory:", "deno-kv:gateway.kv", "postgres://user:secret@host/db"]) {
    test(`refuse ${store.split(":")[0]}: by name, without the rest of the URL`, () => {
      assert.throws(
        () => readDeployConfig({ SERVICE_API_STORE: store }),
        (error: Error) =>
          error.name === "ConfigError" && /^SERVICE_API_STORE must be deno-kv:/.test(error.message) &&
          error.message.includes(`got "${store.split(":")[0]}:`) && !error.message.includes("secret"),
      );
    });
  }

  test("refuse a keys file by name", () => {
    const read = () => readDeployConfig({ SERVICE_API_KEYS_FILE: "keys.json" });
    assert.throws(read, /^ConfigError: SERVICE_API_KEYS_FILE/);
  });
});
