/*
 * The gateway as `gateway serve` runs it, for a test that kills it. What differs is that it may post to this machine, and
 * what the one argument says. Prints its URL when it is ready.
 */
import process from "node:process";
import { serveGateway } from "../../cli/serve_gateway.ts";
import type { SettingName } from "../../lib/config.ts";
import { readConfig } from "../../cli/read_config.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { createLog } from "../../lib/log.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";

export interface Life {
  settings: Partial<Record<SettingName, string>>;
  /** How far its clock is ahead of this machine's. */
  aheadMs: number;
  /** Deliveries under way at once to one endpoint. */
  postsPerLane: number;
  /** It dies by its own hand as soon as it has written so often to its store; 0: it does not. */
  writes: number;
}

const WRITES: readonly (keyof Store)[] = [
  "commitEvents",
  "commitFanOut",
  "leaseSubscriptions",
  "settle",
  "releaseLease",
  "insertReplay",
  "commitReplay",
];

/** A store whose process is gone right after so many writes: whatever was to be written next is not. */
function lastWrites(store: Store, writes: number): Store {
  let done = 0;
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(target, name);
      if (!WRITES.includes(name as keyof Store)) return method;
      return async (...args: unknown[]) => {
        const result = await method.apply(target, args);
        if (++done === writes) process.kill(process.pid, "SIGKILL");
        return result;
      };
    },
  });
}

const { settings, aheadMs, postsPerLane, writes } = JSON.parse(process.argv[2]!) as Life;
const now = () => Date.now() + aheadMs;
const config = readConfig({}, settings);
const log = createLog({ level: "warn", format: "json", now, write: (line) => void process.stderr.write(line) });
const store = lastWrites(await openStore(config.store), writes);
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
