// needs: runtime
import { test } from "node:test";
import { tellCutOff, tellDrain, tellSecondSignal } from "../e2e/drain_story.ts";
import { RESTARTS, tellRestarts } from "../e2e/restart_story.ts";
import { sandboxOfFile, sourceCommand } from "../e2e/sandbox_process.ts";
import { folderForTests } from "../folder.ts";

const command = sourceCommand();
const sandbox = sandboxOfFile();
const folder = folderForTests();

test(`the gateway loses no request during ${RESTARTS} restarts under load`, async () => {
  await tellRestarts(sandbox.info, command, folder);
});

/** A drain that reaches its time limit is slow: it runs while the other stories run. */
let cutOff: Promise<void>;

test("the gateway answers a slow submit after SIGTERM, while it refuses new connections", async () => {
  cutOff = tellCutOff(sandbox.info, command, folder);
  // A test below reports how it ends.
  cutOff.catch(() => {});
  await tellDrain(sandbox.info, command, folder);
});

test("the gateway ends at once on a second signal", async () => {
  await tellSecondSignal(sandbox.info, command, folder);
});

test("the gateway cuts off a submit that outlasts the drain, and reports it in exit code and last log line", async () => {
  await cutOff;
});
