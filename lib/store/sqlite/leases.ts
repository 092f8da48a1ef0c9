import type { NounDriver } from "../checked_store.ts";
import { type Lease, LEASE_SLACK_MS, type LeaseStore } from "../lease.ts";
import { StoreError } from "../store_error.ts";
import type { SqliteContext } from "./database.ts";

interface LeaseRow {
  name: string;
  term: number;
  /** Null: given back. */
  holder: string | null;
  until_ms: number;
}

export interface SqliteLeases {
  methods: NounDriver<LeaseStore>;
  /**
   * To be called within the transaction that writes under these leases.
   * @throws StoreError `fenced` when one is no longer one's own
   */
  fence(leases: Lease[]): void;
  /** Ends every lease there is. */
  endAll(): void;
}

export function sqliteLeases({ database, location, now, isHeld }: SqliteContext): SqliteLeases {
  const read = database.prepare<LeaseRow>("SELECT * FROM lease WHERE name = ?");
  const take = database.prepare<{ term: number }>(`
    INSERT INTO lease (name, term, holder, until_ms) VALUES (?, 1, ?, ?)
    ON CONFLICT DO UPDATE SET term = term + 1, holder = excluded.holder, until_ms = excluded.until_ms RETURNING term`);
  const isOwn = database.prepare("SELECT 1 FROM lease WHERE name = ? AND term = ? AND holder IS NOT NULL");
  const prolong = database.prepare("UPDATE lease SET until_ms = ? WHERE name = ? AND term = ? AND holder IS NOT NULL");
  const giveBack = database.prepare("UPDATE lease SET holder = NULL WHERE name = ? AND term = ?");
  const endAll = database.prepare("UPDATE lease SET holder = NULL");

  /** Nobody else serves from a store that is held: whoever else holds a lease is dead. */
  function isFree(name: string, holder: string, durationMs: number): boolean {
    const row = read.get(name);
    if (row === undefined || row.holder === null || row.holder === holder || isHeld()) return true;
    const remainingMs = row.until_ms - now();
    return remainingMs <= 0 || remainingMs > durationMs + LEASE_SLACK_MS;
  }

  return {
    methods: {
      acquire: ({ name, holder, durationMs }) =>
        database.transaction(() => {
          if (!isFree(name, holder, durationMs)) return undefined;
          return { name, term: take.get(name, holder, now() + durationMs)!.term };
        }),
      renew: (leases, durationMs) =>
        database.transaction(() =>
          leases.filter(({ name, term }) => prolong.run(now() + durationMs, name, term).changes > 0)
        ),
      release: (leases) =>
        database.transaction(() => {
          for (const { name, term } of leases) giveBack.run(name, term);
        }),
    },
    fence(leases) {
      for (const { name, term } of leases) {
        if (isOwn.get(name, term) === undefined) {
          throw new StoreError("fenced", `${location}: the lease "${name}" of term ${term} is no longer one's own`);
        }
      }
    },
    endAll: () => void endAll.run(),
  };
}
