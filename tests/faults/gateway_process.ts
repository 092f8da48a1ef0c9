/*
 * The gateway as `gateway serve` runs it, for a test that kills it. What differs is told by the one argument: it may post
 * to this machine, its clock is ahead, and few or many deliveries are under way at once. Prints its URL when it is ready.
 */
import process from "node:process";
import { serveGateway } from "../../cli/serve_gateway.ts";
import { readConfig, type SettingName } from "../../lib/config.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { createLog } from "../../lib/log.ts";
import { openStore } from "../../lib/store/open_store.ts";

export interface Life {
  settings: Partial<Record<SettingName, string>>;
  /** How far its clock is ahead of this machine's. */
  aheadMs: number;
  postsPerLane: number;
}

const { settings, aheadMs, postsPerLane } = JSON.parse(process.argv[2]!) as Life;
const now = () => Date.now() + aheadMs;
const config = readConfig({}, settings);
const log = createLog({ level: "warn", format: "json", now, write: (line) => void process.stderr.write(line) });
const store = await openStore(config.store);
const running = await serveGateway({
  config,
  store,
  keys: keySourceFromStore(store),
  log,
  now,
  targets: { allowLoopbackHttp: true },
  courierLimits: { postsPerLane },
});
process.stdout.write(`${running.url}\n`);
