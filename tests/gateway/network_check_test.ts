// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { networkOfFile, type RpcFetch, startGateway } from "../http/test_gateway.ts";

const on = networkOfFile();

/** A node that reports another network so many times. */
function lying(times: number): RpcFetch {
  return async (url, init) => {
    const answer = await on.fetch(url, init);
    if (JSON.parse(String(init.body)).method !== "getNetwork" || times-- <= 0) return answer;
    const { result, ...rest } = await answer.json();
    return Response.json({ ...rest, result: { ...result, passphrase: "Another Network" } });
  };
}

/** A wait of two seconds ends at once; deadlines of calls take their real time. */
const wait: Clock["wait"] = (ms, signal) => systemClock.wait(ms === 2_000 ? 0 : ms, signal);
const start = (fetch: RpcFetch) => startGateway(on, { started: false, wait, fetch });

test("a gateway starts although its node reports another network once, and the log contains a line about it", async () => {
  const api = await start(lying(1));
  await api.gateway.networkChecked;
  assert.match(api.log(), /reported another network once.*Another Network/);
  await api.stop();
});

test("a gateway refuses to start when its node belongs to another network", async () => {
  const api = await start(lying(Infinity));
  const refused = { name: "ConfigError", message: /must be .*; got "Another Network"/ };
  await assert.rejects(api.gateway.networkChecked, refused);
  await api.stop();
});

test("the log reports a store that no gateway has used before, and only such a store", async () => {
  const first = await start(on.fetch);
  await first.gateway.networkChecked;
  assert.match(first.log(), /no gateway has served from this store before.*"store":"memory:"/);
  const second = await startGateway(on, { started: false, wait, store: () => first.store });
  await second.gateway.networkChecked;
  assert.doesNotMatch(second.log(), /has served/);
  await Promise.all([first.stop(), second.stop()]);
});
