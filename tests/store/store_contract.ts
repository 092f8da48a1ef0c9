import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, describe } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { bucketContract } from "./contract_buckets.ts";
import { eventContract } from "./contract_events.ts";
import { fanOutContract } from "./contract_fan_out.ts";
import { fileContract } from "./contract_file.ts";
import { historyContract } from "./contract_history.ts";
import { keyContract } from "./contract_keys.ts";
import { lateEventContract } from "./contract_late_events.ts";
import { leaseContract } from "./contract_leases.ts";
import { networkContract } from "./contract_network.ts";
import { replayContract } from "./contract_replays.ts";
import { retentionContract } from "./contract_retention.ts";
import { settlementContract } from "./contract_settlements.ts";
import { submissionContract } from "./contract_submissions.ts";
import { subscriptionContract } from "./contract_subscriptions.ts";

/** What a part of the contract is proven on. */
export interface Subject {
  /** The store of this test, new and empty. */
  store(): Store;
  /** One more handle on it. */
  openAgain(): Promise<Store>;
  /** How `openStore` names it. */
  setting(): string;
  /** Whether it outlives its process, and other processes can open it. */
  isPersistent: boolean;
}

/**
 * Proves every sentence of `lib/store/store.ts` and `webhook_store.ts` for one driver.
 * @param setting how `openStore` names a store in this directory
 */
export function describeStore(name: string, isPersistent: boolean, setting: (directory: string) => string): void {
  const root = mkdtempSync(join(tmpdir(), "store-"));
  let opened: Store[] = [];
  let current = "";

  async function open(): Promise<Store> {
    const store = await openStore(current);
    opened.push(store);
    return store;
  }

  const subject: Subject = {
    store: () => opened[0]!,
    openAgain: open,
    setting: () => current,
    isPersistent,
  };

  describe(`store contract on ${name}`, () => {
    beforeEach(async () => {
      current = setting(mkdtempSync(join(root, "test-")));
      await open();
    });
    afterEach(async () => {
      for (const store of opened) await store.close();
      opened = [];
    });
    after(() => rmSync(root, { recursive: true }));

    networkContract(subject);
    keyContract(subject);
    bucketContract(subject);
    eventContract(subject);
    historyContract(subject);
    submissionContract(subject);
    subscriptionContract(subject);
    fanOutContract(subject);
    lateEventContract(subject);
    leaseContract(subject);
    settlementContract(subject);
    replayContract(subject);
    retentionContract(subject);
    fileContract(subject);
  });
}
