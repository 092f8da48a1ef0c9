// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { append, sampleEvent } from "../store/samples.ts";
import { createStage, idsOf, kinds } from "./streams_stage.ts";

test("a stream whose key was disabled during a suspension gets no later event", async () => {
  await using stage = await createStage();
  let refusal: string | undefined = undefined;
  const stream = await stage.open({ refusal: () => Promise.resolve(refusal) });
  assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
  await stage.happen(1);
  const arriving = stream.next();
  await stage.pass(1_000);
  assert.equal(idsOf((await arriving)!).length, 1);

  // Another gateway on the store continues. A wake-up makes this gateway read the log.
  refusal = "disabled";
  await append(stage.store, sampleEvent(2));
  const after = stream.next();
  stage.clock.advance(20_000);
  stage.streams.wake();
  await stage.pass(1_000);
  assert.deepEqual(await after, [{ kind: "revoked", reason: "disabled" }]);
  assert.equal(await stream.next(), undefined);
});

test("a stream that is behind gets no later event when its key was disabled during a suspension", async () => {
  await using stage = await createStage();
  for (let n = 1; n <= 250; n++) await append(stage.store, sampleEvent(n));
  let refusal: string | undefined = undefined;
  // The store answers the key check later than the read of the page.
  const asked = async () => {
    for (let turns = 0; turns < 5; turns++) await yieldToOthers();
    return refusal;
  };
  const stream = await stage.open({ refusal: asked });
  assert.equal(idsOf((await stream.next())!).length, 100);
  await stage.pass(1_000);
  refusal = "disabled";
  stage.clock.advance(20_000);
  assert.deepEqual(await stream.next(), [{ kind: "revoked", reason: "disabled" }]);
  assert.equal(await stream.next(), undefined);
});

test("a stream gets no later event when its key check from before a suspension succeeds after the suspension", async () => {
  await using stage = await createStage();
  const late = Promise.withResolvers<undefined>();
  let refusal: () => Promise<string | undefined> = () => Promise.resolve(undefined);
  const stream = await stage.open({ refusal: () => refusal() });
  assert.deepEqual(kinds((await stream.next())!), ["caught_up"]);
  const after = stream.next();
  refusal = () => late.promise;
  await stage.pass(400);

  refusal = () => Promise.resolve("disabled");
  await append(stage.store, sampleEvent(1));
  stage.clock.advance(20_000);
  stage.streams.wake();
  late.resolve(undefined);
  await stage.pass(1_000);
  assert.deepEqual(await after, [{ kind: "revoked", reason: "disabled" }]);
});

test("a stream whose key was disabled while a slow store delayed its opening gets nothing", async () => {
  await using stage = await createStage();
  await append(stage.store, sampleEvent(1));
  const other = await stage.open({ keyId: "other" });
  await other.next();
  await stage.pass(1_000);
  // The key check ends later than the read of the page.
  const refusal = async () => {
    for (let turns = 0; turns < 5; turns++) await yieldToOthers();
    return "disabled";
  };
  const stream = await stage.open({ refusal });
  assert.deepEqual(await stream.next(), [{ kind: "revoked", reason: "disabled" }]);
});
