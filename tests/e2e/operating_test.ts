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

test("the doctor tells each thing that can be wrong from the others", async () => {
  await tellDoctor(sandbox.info, HERE, folder);
});

test("a store of a newer program is refused", async () => {
  await tellNewerStore(sandbox.info, command, folder);
});

test("a gateway whose store's file is taken away says so, and takes nothing on", async () => {
  await tellLostStore(sandbox.info, command, folder);
});

test("metrics and status say what happened, and no secret is in the log", async () => {
  await tellWatching(sandbox.info, command, folder);
});

test("thousands of half-open connections that take the file descriptors are outlived", async () => {
  await tellStrangers(sandbox.info, command, folder);
});

test("what a node fails to answer, another does; the first is asked again when it is well", async () => {
  await tellFailover(sandbox.info, command, folder);
});

// Half a minute of waiting, in which the second node rests between its lies.
test(
  "a node that lies, always or once, is not believed while another tells the truth",
  { skip: longOnly },
  async () => {
    await tellLiar(sandbox.info, command, folder);
  },
);
