// needs: once
import { test } from "node:test";
import { tellDoctor } from "./doctor_story.ts";
import { tellFailover } from "./failover_story.ts";
import { tellLiar } from "./liar_story.ts";
import { tellLostStore } from "./lost_store_story.ts";
import { tellStrangers } from "./strangers_story.ts";
import { tellNewerStore } from "./newer_store_story.ts";
import { tellWatching } from "./watch_story.ts";
import { longOnly } from "../tier.ts";
import { HERE, sandboxOfFile, sourceCommand } from "./sandbox_process.ts";
import { folderForTests } from "../folder.ts";

const sandbox = sandboxOfFile();
const folder = folderForTests();
const command = sourceCommand();

test("the doctor finds no problem on a healthy network, and reports a node that is down", async () => {
  await tellDoctor(sandbox.info, HERE, folder);
});

test("the gateway refuses a store of a newer program", async () => {
  await tellNewerStore(sandbox.info, command, folder);
});

test("the gateway reports a store file that is moved away, accepts no new work, and still answers reads", async () => {
  await tellLostStore(sandbox.info, command, folder);
});

test("the gateway shows its work in metrics and status, and logs no secret", async () => {
  await tellWatching(sandbox.info, command, folder);
});

test("the gateway keeps serving while thousands of half-open connections use up its file descriptors", async () => {
  await tellStrangers(sandbox.info, command, folder);
});

test("the gateway uses the second node while the first fails, and returns to the first after it recovers", async () => {
  await tellFailover(sandbox.info, command, folder);
});

// Waits half a minute, because the gateway asks a lying node only every ten seconds.
test(
  "the gateway works correctly while one of two nodes returns wrong answers",
  { skip: longOnly },
  async () => {
    await tellLiar(sandbox.info, command, folder);
  },
);
