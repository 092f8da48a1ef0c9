// A gateway's webhooks and nothing else, on the store it is given, until SIGTERM: worker_process.ts STORE
import process from "node:process";
import { openStore } from "../../lib/store/open.ts";
import { localWebhooks } from "./webhook_load.ts";

const store = await openStore(process.argv[2]!);
await store.holdForServing();
const webhooks = localWebhooks(store);
store.onNotification(webhooks.wake);
webhooks.start();
process.once("SIGTERM", async () => {
  await webhooks.stop();
  await store.close();
  process.exit(0);
});
process.stdout.write("delivering\n");
