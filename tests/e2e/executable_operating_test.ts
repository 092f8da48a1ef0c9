// needs: long, once
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { compileExecutable } from "./compiled.ts";
import { tellDoctor } from "./doctor_story.ts";
import { tellCutOff, tellDrain, tellSecondSignal, tellSettling } from "./drain_story.ts";
import { tellFailover, tellLag, tellOutage } from "./failover_story.ts";
import { RESTARTS, tellRestarts } from "./restart_story.ts";
import { startSandbox } from "./sandbox_process.ts";
import { tellLostStore } from "./lost_store_story.ts";
import { tellStrangers } from "./strangers_story.ts";
import { tellNewerStore } from "./newer_store_story.ts";
import { tellWatching } from "./watch_story.ts";

// Outside a hook, because Bun ends a hook after five seconds.
const { folder, gateway } = await compileExecutable();
const command = [gateway];
const stores = await mkdtemp(join(tmpdir(), "gateway-stores-"));
const sandbox = await startSandbox(command);
const { info } = sandbox;

/**
 * A node that was lost is trusted again after half a minute, and a drain that nothing ends takes its time: both pass while
 * the other stories are told.
 */
const lost = Promise.allSettled([tellOutage, tellLag].map((tell) => tell(info, command, stores)));
const cutOff = tellCutOff(info, command, stores);
// A test below reports how it ends.
cutOff.catch(() => {});

after(async () => {
  await sandbox.stop();
  for (const path of [folder, stores]) await rm(path, { recursive: true, force: true });
});

test("the executable's doctor finds no problem on a healthy network, and reports a node that is down", async () => {
  await tellDoctor(info, command, stores);
});

test("the executable refuses a store of a newer program", async () => {
  await tellNewerStore(info, command, stores);
});

test("the executable reports a store file that is moved away, accepts no new work, and still answers reads", async () => {
  await tellLostStore(info, command, stores);
});

test("the executable shows its work in metrics and status, and logs no secret", async () => {
  await tellWatching(info, command, stores);
});

test("the executable keeps serving while thousands of half-open connections use up its file descriptors", async () => {
  await tellStrangers(info, command, stores);
});

test("the executable uses the second node while the first fails", async () => {
  await tellFailover(info, command, stores);
});

test(`the executable loses no request during ${RESTARTS} restarts under load`, async () => {
  await tellRestarts(info, command, stores);
});

test("the executable answers a slow submit after SIGTERM", async () => {
  await tellDrain(info, command, stores);
});

test("the executable cuts off a submit that outlasts the drain, and reports it in exit code and log", async () => {
  await cutOff;
});

test("the executable completes a webhook post during a stop, and does not repeat it after the restart", async () => {
  const start = () => startSandbox(command, ["--state", join(stores, "settling")]);
  const again = await tellSettling(await start(), start);
  await again.stop();
});

test("the executable ends at once on a second signal", async () => {
  await tellSecondSignal(info, command, stores);
});

test("the executable leaves a node that fails or lags, and returns to the node after it recovers", async () => {
  for (const told of await lost) assert.equal(told.status, "fulfilled", String((told as { reason?: Error }).reason));
});

test("the executable leaves no file in its own folder", async () => {
  assert.deepEqual(await readdir(folder), ["gateway"]);
});
