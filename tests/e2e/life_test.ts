import { after, before, test } from "node:test";
import { type SandboxProcess, startSandbox } from "./sandbox_process.ts";
import { tellStory } from "./story.ts";

let sandbox: SandboxProcess;
before(async () => {
  sandbox = await startSandbox();
});
after(() => sandbox.stop());

test("the whole life of a card goes through the gateway, offline", async () => {
  await tellStory(sandbox.info);
});
