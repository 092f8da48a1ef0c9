// needs: runtime
import { test } from "node:test";
import { tellCutOff, tellDrain, tellSecondSignal } from "../e2e/drain_story.ts";
import { RESTARTS, tellRestarts } from "../e2e/restart_story.ts";
import { sandboxOfFile, sourceCommand } from "../e2e/sandbox_process.ts";
import { folderForTests } from "../folder.ts";

const command = sourceCommand();
const sandbox = sandboxOfFile();
const folder = folderForTests();

test(`${RESTARTS} restarts under load lose no request`, async () => {
  await tellRestarts(sandbox.info, command, folder);
});

/** A drain that nothing ends takes its time: it passes while the other stories are told. */
let cutOff: Promise<void>;

test("a slow submit is answered though the gateway was told to stop, while new connections are refused", async () => {
  cutOff = tellCutOff(sandbox.info, command, folder);
  // How it ends its own test says.
  cutOff.catch(() => {});
  await tellDrain(sandbox.info, command, folder);
});

test("a second signal ends the gateway at once", async () => {
  await tellSecondSignal(sandbox.info, command, folder);
});

test("a submit that outlasts the drain is cut off, and the exit code and the last line say so", async () => {
  await cutOff;
});
