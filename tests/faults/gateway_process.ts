/*
 * The gateway as `gateway serve` runs it, for a test that kills it. What differs is that it may post to this machine, and
 * what the one argument says. Prints its URL when it is ready.
 */
import process from "node:process";
import { serveGateway } from "../../cli/serve_gateway.ts";
import type { SettingName } from "../../lib/config.ts";
import { readConfig } from "../../cli/read_config.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { systemClock } from "../../lib/clock.ts";
import { createLog } from "../../lib/log.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";

export interface Life {
  settings: Partial<Record<SettingName, string>>;
  /** How far its clock is ahead of this machine's. */
  aheadMs: number;
  /** By how much it is moved at SIGUSR2, and back at the next; 0 when absent. */
  stepMs?: number;
  /** Deliveries under way at once to one endpoint. */
  postsPerEndpoint: number;
  /** It dies by its own hand as soon as it has written so often to its store; 0: it does not. */
  writes: number;
  /** Only this write counts, such as `deliveries.settle`; absent: all do. */
  countedWrite?: string;
}

/** The methods of each noun that write what a gateway does by itself. */
const WRITES = {
  events: ["append", "forget"],
  leases: ["acquire", "release"],
  deliveries: ["settle", "insertReplay"],
} as const satisfies { [Noun in keyof Store]?: readonly (keyof Store[Noun])[] };

/** A store whose process is gone right after so many writes: whatever was to be written next is not. */
function lastWrites(store: Store, writes: number, countedWrite?: string): Store {
  let done = 0;
  const lethal = Object.create(store) as Store;
  for (const [noun, methods] of Object.entries(WRITES)) {
    const whole = store[noun as keyof typeof WRITES] as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >;
    const counted = Object.fromEntries(methods.map((method) => [method, async (...args: unknown[]) => {
      const result = await whole[method]!(...args);
      const isCounted = countedWrite === undefined || countedWrite === `${noun}.${method}`;
      if (isCounted && ++done === writes) process.kill(process.pid, "SIGKILL");
      return result;
    }]));
    Object.defineProperty(lethal, noun, { value: Object.assign(Object.create(whole), counted) });
  }
  return lethal;
}

const { settings, aheadMs, stepMs = 0, postsPerEndpoint, writes, countedWrite } = JSON.parse(process.argv[2]!) as Life;
let steppedMs = 0;
process.on("SIGUSR2", () => steppedMs = stepMs - steppedMs);
const now = () => Date.now() + aheadMs + steppedMs;
const config = readConfig({}, settings);
const log = createLog({ level: "warn", format: "json", now, write: (line) => void process.stderr.write(line) });
const store = lastWrites(await openStore(config.store), writes, countedWrite);
const running = await serveGateway({
  config,
  store,
  keys: keySourceFromStore(store),
  log,
  clock: { ...systemClock, now },
  targets: { allowLoopbackHttp: true },
  workerLimits: { postsPerEndpoint },
});
process.stdout.write(`${running.url}\n`);
