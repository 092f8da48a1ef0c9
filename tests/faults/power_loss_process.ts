/*
 * Writes to a store until it is done, and notes beside it, in the file `acknowledged`, what has been acknowledged: after
 * each commit the number of events and the cursor. Arguments: the store, the folder, how many rounds.
 */
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../lib/store/open.ts";
import { partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { sampleFailed } from "../store/webhook_samples.ts";
import { append, eventAt } from "../webhooks/parts.ts";

const [setting, folder, rounds] = process.argv.slice(2);
const store = await openStore(setting!);
const notes = openSync(join(folder!, "acknowledged"), "a");
const lease =
  (await store.leases.acquire({ name: partitionLease(partitionOf("wh_1")), holder: "writer", durationMs: 600_000 }))!;
let last = 0;
let cursor = 0;
const note = () => writeSync(notes, `${last} ${cursor}\n`);

for (let round = 1; round <= Number(rounds); round++) {
  const events = Array.from({ length: 1 + (round % 7) }, (_, at) => eventAt(100 + round, at + 1));
  await append(store, events, 100 + round);
  last += events.length;
  note();
  const failed = sampleFailed(last, "rejected");
  const settlement = { subscriptionId: "wh_1", cursor: last, failed: [failed], attempts: [] };
  await store.deliveries.settle({ leases: [lease], settlements: [settlement] });
  cursor = last;
  note();
}
// As if it had been killed: closing would tidy up.
process.kill(process.pid, "SIGKILL");
