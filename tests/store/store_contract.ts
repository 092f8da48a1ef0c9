import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, describe } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { attemptContract } from "./contract_attempts.ts";
import { bucketContract } from "./contract_buckets.ts";
import { callContract } from "./contract_calls.ts";
import { copyContract } from "./contract_copies.ts";
import { deliveryContract } from "./contract_deliveries.ts";
import { nextContract } from "./contract_next.ts";
import { eventContract } from "./contract_events.ts";
import { fileContract } from "./contract_file.ts";
import { filterContract } from "./contract_filters.ts";
import { forgettingContract } from "./contract_forgetting.ts";
import { intentContract } from "./contract_intents.ts";
import { keyContract } from "./contract_keys.ts";
import { killContract } from "./contract_kills.ts";
import { leaseContract } from "./contract_leases.ts";
import { networkContract } from "./contract_network.ts";
import { paymentContract } from "./contract_payments.ts";
import { registerContract } from "./contract_shared_state.ts";
import { referenceContract } from "./contract_references.ts";
import { replayContract } from "./contract_replays.ts";
import { settlementContract } from "./contract_settlements.ts";
import { submissionContract } from "./contract_submissions.ts";
import { subscriptionContract } from "./contract_subscriptions.ts";
import { transactionContract } from "./contract_transactions.ts";
import { undecodedContract } from "./contract_undecoded.ts";
import { START_MS } from "./webhook_samples.ts";

/** The store under test in a part of the contract. */
export interface Subject {
  /** The store of this test, new and empty. */
  store(): Store;
  /** One more handle on it; on a store that does not outlive its process the same one. */
  anotherHandle(): Promise<Store>;
  /** The store again, after this one was closed. */
  reopen(): Promise<Store>;
  /** The setting for `openStore`. */
  setting(): string;
  /** The store's location, for people. */
  location(): string;
  /** The setting of another store, which does not exist yet. */
  newSetting(): string;
  /** The store's clock, Unix milliseconds. */
  now(): number;
  /** Lets the store's clock go on. */
  pass(ms: number): void;
  /** Whether it outlives its process, and other processes can open it. */
  isPersistent: boolean;
  /** Whether several gateways may serve from it at once. */
  isShared: boolean;
}

const PARTS = [
  callContract,
  networkContract,
  keyContract,
  bucketContract,
  submissionContract,
  transactionContract,
  referenceContract,
  intentContract,
  leaseContract,
  registerContract,
  eventContract,
  filterContract,
  undecodedContract,
  copyContract,
  forgettingContract,
  subscriptionContract,
  deliveryContract,
  nextContract,
  settlementContract,
  attemptContract,
  replayContract,
  paymentContract,
  fileContract,
  killContract,
];

/** The properties of a kind of store. */
export interface SubjectKind {
  /** The parts of the contract to prove. Default: all. */
  parts?: ((subject: Subject) => void)[];
  isShared?: boolean;
  /** The location of the store with this setting. Default: the setting. */
  location?(setting: string): string;
  newSetting?(setting: string): string;
  /** Sets the clock of a store that does not go by its caller's. */
  setClock?(nowMs: number): void;
}

/**
 * Proves every sentence of `lib/store/store.ts` for one driver.
 * @param setting how `openStore` names a new store, in this directory where it is a file
 */
export function describeStore(
  name: string,
  isPersistent: boolean,
  setting: (directory: string) => string | Promise<string>,
  {
    parts = PARTS,
    isShared = false,
    location = (setting) => setting,
    newSetting = (setting) => `${setting}.new`,
    setClock = () => {},
  }: SubjectKind = {},
): void {
  const root = mkdtempSync(join(tmpdir(), "store-"));
  let opened: Store[] = [];
  let current = "";
  let nowMs = START_MS;

  async function open(): Promise<Store> {
    const store = await openStore(current, { now: () => nowMs, isShared });
    opened.push(store);
    return store;
  }

  const subject: Subject = {
    store: () => opened[0]!,
    anotherHandle: async () => isPersistent ? await open() : opened[0]!,
    reopen: open,
    setting: () => current,
    location: () => location(current),
    newSetting: () => newSetting(current),
    now: () => nowMs,
    pass(ms) {
      nowMs += ms;
      setClock(nowMs);
    },
    isPersistent,
    isShared,
  };

  describe(`store contract on ${name}`, () => {
    beforeEach(async () => {
      setClock(nowMs);
      current = await setting(mkdtempSync(join(root, "test-")));
      await open();
    });
    afterEach(async () => {
      for (const store of opened) await store.close();
      opened = [];
    });
    after(() => rmSync(root, { recursive: true }));

    for (const prove of parts) prove(subject);
  });
}
