import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../lib/store/open.ts";
import type { Cluster } from "../store/postgres_cluster.ts";
import { createIngest, subscribe } from "./webhook_load.ts";

/** What there is to deliver: every event to every subscription. */
export interface DeliveryLoad {
  /** Of the receiver. */
  url: string;
  subscriptions: number;
  events: number;
}

/** A store with all that is to be delivered, filled once; each run has a copy of its own. */
export interface FilledStore {
  load: DeliveryLoad;
  copy(): Promise<StoreCopy>;
  remove(): Promise<void>;
}

export interface StoreCopy {
  location: string;
  remove(): Promise<void>;
}

export async function fillSqlite(folder: string, load: DeliveryLoad): Promise<FilledStore> {
  const filled = join(folder, `filled_${load.subscriptions}`);
  const copied = join(folder, "copied");
  mkdirSync(filled);
  await fill(`sqlite:${filled}/gateway.db`, load);
  return {
    load,
    copy() {
      cpSync(filled, copied, { recursive: true });
      const remove = () => Promise.resolve(rmSync(copied, { recursive: true }));
      return Promise.resolve({ location: `sqlite:${copied}/gateway.db`, remove });
    },
    remove: () => Promise.resolve(rmSync(filled, { recursive: true })),
  };
}

export async function fillPostgres(cluster: Cluster, load: DeliveryLoad): Promise<FilledStore> {
  const filled = `filled_${load.subscriptions}`;
  const settingOf = (database: string) => cluster.setting().replace(/gateway$/, database);
  await cluster.sql(`CREATE DATABASE ${filled}`);
  await fill(settingOf(filled), load);
  return {
    load,
    async copy() {
      await cluster.sql(`CREATE DATABASE copied TEMPLATE ${filled} STRATEGY FILE_COPY`);
      // What making it wrote is not to be written to the disk while it is measured.
      await cluster.sql("CHECKPOINT");
      return {
        location: settingOf("copied"),
        remove: async () => void await cluster.sql("DROP DATABASE copied (FORCE)"),
      };
    },
    remove: async () => void await cluster.sql(`DROP DATABASE ${filled}`),
  };
}

async function fill(location: string, { url, subscriptions, events }: DeliveryLoad): Promise<void> {
  const store = await openStore(location);
  await subscribe(store, url, subscriptions);
  await createIngest(store).appendUpTo(events);
  await store.close();
}
