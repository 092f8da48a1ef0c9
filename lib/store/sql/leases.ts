import type { NounDriver } from "../checked_store.ts";
import { type Lease, LEASE_SLACK_MS, type LeaseStore } from "../lease.ts";
import { StoreError } from "../store_error.ts";
import { send, type SqlContext, type Work } from "./database.ts";

/** No lease has this holder. */
const NOBODY = "";

export interface SqlLeases {
  methods: NounDriver<LeaseStore>;
  /**
   * Checks leases, first in the transaction that writes under them. No holder can acquire one until the commit.
   * @throws StoreError `fenced` when another holder has acquired one
   */
  fence(leases: Lease[]): Work<void>;
  /** Treats these leases as lost until they are acquired again. Returns the error for the caller. */
  lose(leases: Lease[]): StoreError;
}

/**
 * Several leases are locked in the order of their names, so none waits for another in a circle.
 * @param isHeld whether this handle holds the store for serving: then every other holder is dead
 */
export function sqlLeases({ sql, location }: SqlContext, isHeld: () => boolean): SqlLeases {
  /** Of the leases acquired here. A standby that was promoted without the last commits hands out a term a second time. */
  const holders = new Map<string, { term: number; holder: string }>();
  const { now, prepare } = sql;
  const table = `${sql.prefix}lease`;
  const own = (lock: "UPDATE" | "SHARE") =>
    `SELECT of_name, of_term FROM ${table} AS lease JOIN ${
      sql.given("of_name text, of_term bigint, of_holder text")
    } ON lease.name = of_name AND lease.term = of_term
    WHERE lease.holder = coalesce(of_holder, lease.holder) ORDER BY lease.name ${sql.lock(lock, "lease")}`;
  const acquire = prepare<Lease>(
    `INSERT INTO ${table} AS held (name, term, holder, until_ms) VALUES ($1, 1, $2, ${now} + $3)
    ON CONFLICT (name) DO UPDATE SET term = held.term + 1, holder = excluded.holder, until_ms = ${now} + $3
    WHERE $4 OR held.holder IS NULL OR held.holder = excluded.holder OR held.until_ms <= ${now}
      OR held.until_ms > ${now} + $3 + ${LEASE_SLACK_MS}
    RETURNING name, term`,
  );
  const renew = prepare<Lease>(
    `WITH own AS (${own("UPDATE")})
    UPDATE ${table} AS lease SET until_ms = ${now} + $2 FROM own WHERE lease.name = own.of_name
    RETURNING name, term`,
  );
  const release = prepare(
    `WITH own AS (${own("UPDATE")}) UPDATE ${table} AS lease SET holder = NULL FROM own WHERE lease.name = own.of_name`,
  );
  const check = prepare<{ of_name: string; of_term: number }>(own("SHARE"));

  const rowsOf = (leases: Lease[]) =>
    leases.map(({ name, term }) => {
      const known = holders.get(name);
      return { of_name: name, of_term: term, of_holder: known?.term === term ? known.holder : null };
    });
  const isIn = (found: Lease[], { name, term }: Lease) => found.some((one) => one.name === name && one.term === term);
  const fenced = ({ name, term }: Lease) =>
    new StoreError("fenced", `${location}: the lease "${name}" of term ${term} is no longer one's own`);

  return {
    methods: {
      async acquire({ name, holder, durationMs }) {
        const [row] = await sql.write(acquire(name, holder, durationMs, isHeld()));
        if (row !== undefined) holders.set(name, { term: row.term, holder });
        return row;
      },
      async renew(leases, durationMs) {
        if (leases.length === 0) return [];
        const renewed = await sql.write(renew(rowsOf(leases), durationMs));
        return leases.filter((lease) => isIn(renewed, lease));
      },
      release: async (leases) => void await sql.write(release(rowsOf(leases))),
    },
    *fence(leases) {
      const [held] = yield* send(check(rowsOf(leases)));
      const found = held.map(({ of_name, of_term }) => ({ name: of_name, term: of_term }));
      const lost = leases.find((lease) => !isIn(found, lease));
      if (lost !== undefined) throw fenced(lost);
    },
    lose(leases) {
      for (const { name, term } of leases) holders.set(name, { term, holder: NOBODY });
      return fenced(leases[0]!);
    },
  };
}
