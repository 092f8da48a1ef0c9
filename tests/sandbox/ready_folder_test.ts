// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { ledgerFile } from "../../cli/sandbox/folder.ts";
import { folderForTests } from "../folder.ts";
import { prepareStateFolder } from "./ready_folder.ts";
import { startReadyNetwork } from "./ready_network.ts";
import { START_SECONDS, startNetwork } from "./sandbox_network.ts";

const folder = folderForTests();

test("a network that starts from a prepared folder has the state of the image", async () => {
  await prepareStateFolder(folder, { now: () => START_SECONDS * 1000 });
  const { network } = await startNetwork({ stateFile: ledgerFile(folder) });
  const ready = await startReadyNetwork();
  assert.deepEqual(JSON.parse(network.recall("sandbox")!), ready.sandbox);
  assert.deepEqual(network.latestLedger().metadataXdr, ready.network.latestLedger().metadataXdr);
  assert.deepEqual([...network.eventsAfter("", 1_000)], [...ready.network.eventsAfter("", 1_000)]);
  assert.equal(network.closeLedger().hash, ready.network.closeLedger().hash);
  await network.stop();
});
