import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { appendMany, sampleEvent, sampleKey, sampleState, watcherLease } from "./samples.ts";
import { sampleAttempt, sampleFailed, subscribe, workerLeases } from "./webhook_samples.ts";

/** Another process that has the same store open, started from this very file. */
export interface StoreProcess {
  /** Waits until it has printed this line. */
  said(line: string): Promise<void>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

const WORK: Record<string, (store: Store) => void | Promise<void>> = {
  open() {
    console.log("done");
  },
  async "insert-keys"(store) {
    for (let n = 0; n < 10; n++) await store.keys.insert(sampleKey(`theirs-${n}`));
    console.log("done");
  },
  async hold(store) {
    await store.holdForServing();
    console.log("done");
  },
  async "write-until-killed"(store) {
    const lease = await watcherLease(store);
    for (let n = 1; n <= 100; n++) {
      const events = Array.from({ length: 10 }, (_, index) => sampleEvent(10 * (n - 1) + index));
      await store.submissions.record({ hash: `hash-${n}`, validUntil: n, submittedAtMs: n });
      await store.events.append({ lease, events, state: sampleState(n) });
      console.log(`written ${n}`);
    }
  },
  /** One of ten events fails, for two subscriptions; prints "delivered" after each commit. */
  async "deliver-until-killed"(store) {
    await subscribe(store, "wh_1", "wh_2");
    await appendMany(store, 1, 5_000);
    const leases = await workerLeases(store, "wh_1", "wh_2");
    for (let n = 10; n <= 5_000; n += 10) {
      for (const subscriptionId of ["wh_1", "wh_2"]) {
        const attempts = Array.from({ length: 10 }, (_, index) => sampleAttempt(n - 9 + index));
        const failed = [sampleFailed(n, "retrying")];
        await store.deliveries.settle({ leases, settlements: [{ subscriptionId, cursor: n, failed, attempts }] });
        console.log(`delivered ${n} ${subscriptionId}`);
      }
    }
  },
};

/** Starts the process; it stays until it is killed. */
export function startStoreProcess(setting: string, work: keyof typeof WORK): StoreProcess {
  const file = fileURLToPath(import.meta.url);
  const args = runtimeName === "deno" ? ["run", "-A", "--unstable-kv", file] : [file];
  const child = spawn(process.execPath, [...args, setting, work as string], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  let output = "";
  const listeners = new Set<() => void>();
  child.stdout.on("data", (chunk) => {
    output += chunk;
    for (const listener of listeners) listener();
  });

  return {
    said: (line) =>
      new Promise((resolve, reject) => {
        const look = () => output.split("\n").includes(line) && resolve();
        listeners.add(look);
        exited.then(() => reject(new Error(`the process ended without saying "${line}": ${output}`)));
        look();
      }),
    async kill() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

if (import.meta.main) {
  const [setting, work] = process.argv.slice(2);
  await WORK[work!]!(await openStore(setting!));
  setInterval(() => {}, 60_000);
}
