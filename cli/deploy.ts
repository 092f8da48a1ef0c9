/**
 * The entry for `deno serve` and Deno Deploy:
 *
 *   deno serve --unstable-kv --unstable-cron --unstable-no-legacy-abort --allow-net --allow-env \
 *     --allow-read=lib/http/pages/reference cli/deploy.ts
 *
 * Settings come from the environment only. The platform starts and ends isolates at any time, several at once. So nothing
 * relies on a stop, and crons do in bounded turns what a server does in loops.
 *
 * Isolates share the database. A turn acquires the leases of the watcher and of the webhook partitions, and releases them
 * at its end. Their terms fence every commit. Of two turns that overlap, such as an old deployment's and its successor's,
 * one waits for the watcher's lease, and both share the partitions. The limits of keys are leased from the database, too.
 */
import process from "node:process";
import type { Config } from "../lib/config.ts";
import { createGateway, type Gateway } from "../lib/gateway/gateway.ts";
import { createLog, type Log } from "../lib/log.ts";
import { cron, endAtFirstSignal } from "../lib/runtime/cron.ts";
import { type DenoServeInfo, peerOf } from "../lib/runtime/serve.ts";
import { openStore } from "../lib/store/open.ts";
import { createLazyGateway } from "./lazy_gateway.ts";
import { readDeployConfig, warnOfIdleSettings } from "./read_config.ts";
import { openKeySource } from "./serve_gateway.ts";

/** The platform stores console output. */
function consoleLog(config: Config): Log {
  const write = (line: string) => console.error(line.trimEnd());
  return createLog({
    format: config.log === "auto" ? "json" : config.log,
    level: config.logLevel,
    write,
    now: Date.now,
  });
}

async function openGateway(config: Config, log: Log): Promise<Gateway> {
  const store = await openStore(config.store, { onNotice: log.info });
  let gateway: Gateway | undefined;
  try {
    const keys = await openKeySource(config, store, log, Date.now);
    gateway = await createGateway({ config, store, keys, log });
    await gateway.networkChecked;
    if (await keys.isEmpty()) {
      log.warn("there are no API keys yet: put the output of `gateway keygen --record` into SERVICE_API_KEYS");
    }
    return gateway;
  } catch (error) {
    await gateway?.stop();
    await store.close();
    throw error;
  }
}

const config = readDeployConfig(process.env);
const log = consoleLog(config);
warnOfIdleSettings(process.env, log);
const gateway = createLazyGateway({
  open: () => openGateway(config, log),
  log,
  monotonicMs: () => performance.now(),
});

cron("watch and deliver", "* * * * *", gateway.turn);
cron("run the retention job", "23 * * * *", gateway.tidy);
endAtFirstSignal();

export default {
  fetch: (request: Request, info: DenoServeInfo): Promise<Response> => gateway.fetch(request, peerOf(info)),
};
