import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { sampleEvent, sampleKey, samplePosition, sampleState } from "./samples.ts";
import { commitEvents, fanOut, leaseAll, sampleDelivery, settlement, START_MS, subscribe } from "./webhook_samples.ts";

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
    for (let n = 0; n < 10; n++) await store.insertKey(sampleKey(`theirs-${n}`));
    console.log("done");
  },
  async hold(store) {
    await store.holdForServing();
    console.log("done");
  },
  async "write-until-killed"(store) {
    for (let n = 1; n <= 100; n++) {
      const events = Array.from({ length: 10 }, (_, index) => sampleEvent(10 * (n - 1) + index));
      await store.recordSubmission({ hash: `hash-${n}`, validUntil: n, submittedAtMs: n });
      await store.commitEvents({ events, state: sampleState(n) });
      console.log(`written ${n}`);
    }
  },
  /** Delivers every event to two subscriptions; of each it says "delivered" once that is settled. */
  async "deliver-until-killed"(store) {
    await subscribe(store, "wh_1", "wh_2");
    await commitEvents(store, 0, 999);
    for (let n = 0; n < 1_000; n++) {
      await fanOut(store, ["wh_1", "wh_2"].map((id) => sampleDelivery(id, n)));
      for (const lease of (await leaseAll(store, START_MS + n)).values()) {
        await store.settle([settlement(lease, n, "delivered", { eventId: samplePosition(n) })]);
        await store.releaseLease(lease);
        console.log(`delivered ${n} ${lease.subscriptionId}`);
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
