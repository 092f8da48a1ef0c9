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

// Before the tests: Bun gives a hook five seconds at most.
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
// How it ends its own test says.
cutOff.catch(() => {});

after(async () => {
  await sandbox.stop();
  for (const path of [folder, stores]) await rm(path, { recursive: true, force: true });
});

test("the executable has a doctor that tells each thing that can be wrong from the others", async () => {
  await tellDoctor(info, command, stores);
});

test("the executable refuses a store of a newer program", async () => {
  await tellNewerStore(info, command, stores);
});

test("the executable takes nothing on when its store's file is taken away", async () => {
  await tellLostStore(info, command, stores);
});

test("the executable says in metrics and status what happened, and no secret in its log", async () => {
  await tellWatching(info, command, stores);
});

test("the executable outlives thousands of half-open connections that take its file descriptors", async () => {
  await tellStrangers(info, command, stores);
});

test("the executable goes on with the second node while the first fails", async () => {
  await tellFailover(info, command, stores);
});

test(`the executable is restarted ${RESTARTS} times under load and loses no request`, async () => {
  await tellRestarts(info, command, stores);
});

test("the executable answers a slow submit though it was told to stop", async () => {
  await tellDrain(info, command, stores);
});

test("the executable cuts off a submit that outlasts the drain, and says so", async () => {
  await cutOff;
});

test("the executable posts a webhook to its end, and once", async () => {
  const start = () => startSandbox(command, ["--state", join(stores, "settling")]);
  const again = await tellSettling(await start(), start);
  await again.stop();
});

test("the executable ends at once by a second signal", async () => {
  await tellSecondSignal(info, command, stores);
});

test("the executable leaves a node that stays broken or lags, and comes back to it", async () => {
  for (const told of await lost) assert.equal(told.status, "fulfilled", String((told as { reason?: Error }).reason));
});

test("the executable leaves nothing in the folder it runs in", async () => {
  assert.deepEqual(await readdir(folder), ["gateway"]);
});
