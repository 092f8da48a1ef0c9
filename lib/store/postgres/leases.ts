import type { NounDriver } from "../checked_store.ts";
import { type Lease, LEASE_SLACK_MS, type LeaseStore } from "../lease.ts";
import { StoreError } from "../store_error.ts";
import { NOW_MS, type PostgresContext, type Queries } from "./database.ts";

const GIVEN = "json_to_recordset($1::text::json) AS given (name text, term bigint, holder text)";

/** Whom no lease names. */
const NOBODY = "";

export interface PostgresLeases {
  methods: NounDriver<LeaseStore>;
  /**
   * To be called first in the transaction that writes under these leases: nobody acquires one until that has ended.
   * @throws StoreError `fenced` when one is no longer one's own
   */
  fence(queries: Queries, leases: Lease[]): Promise<void>;
  /** From here on these are not one's own any more, until they are acquired again; answers what to reject with. */
  lose(leases: Lease[]): StoreError;
}

/** All that take several leases take them in the order of their names: then none waits for another in a circle. */
export function postgresLeases({ database, location, prefix }: PostgresContext): PostgresLeases {
  /** Of those acquired here: a standby that was promoted without the last commits hands out a term a second time. */
  const holders = new Map<string, { term: number; holder: string }>();
  const fenced = ({ name, term }: Lease) =>
    new StoreError("fenced", `${location}: the lease "${name}" of term ${term} is no longer one's own`);

  const rowsOf = (leases: Lease[]) =>
    leases.map(({ name, term }) => {
      const known = holders.get(name);
      return { name, term, holder: known?.term === term ? known.holder : null };
    });

  const own = (lock: string) =>
    `SELECT lease.name, lease.term FROM ${prefix}lease AS lease JOIN ${GIVEN}
      ON lease.name = given.name AND lease.term = given.term
    WHERE lease.holder = coalesce(given.holder, lease.holder) ORDER BY lease.name FOR ${lock} OF lease`;

  return {
    methods: {
      async acquire({ name, holder, durationMs }) {
        const [row] = await database.write<Lease>(
          `INSERT INTO ${prefix}lease AS held (name, term, holder, until_ms) VALUES ($1, 1, $2, ${NOW_MS} + $3)
          ON CONFLICT (name) DO UPDATE SET term = held.term + 1, holder = excluded.holder, until_ms = ${NOW_MS} + $3
          WHERE held.holder IS NULL OR held.holder = excluded.holder OR held.until_ms <= ${NOW_MS}
            OR held.until_ms > ${NOW_MS} + $3 + ${LEASE_SLACK_MS}
          RETURNING held.name, held.term`,
          [name, holder, durationMs],
        );
        if (row !== undefined) holders.set(name, { term: row.term, holder });
        return row;
      },
      async renew(leases, durationMs) {
        if (leases.length === 0) return [];
        const renewed = await database.write<Lease>(
          `WITH own AS (${own("UPDATE")})
          UPDATE ${prefix}lease AS lease SET until_ms = ${NOW_MS} + $2 FROM own WHERE lease.name = own.name
          RETURNING lease.name, lease.term`,
          [rowsOf(leases), durationMs],
        );
        return leases.filter(({ name, term }) => renewed.some((one) => one.name === name && one.term === term));
      },
      async release(leases) {
        await database.write(
          `WITH own AS (${own("UPDATE")})
          UPDATE ${prefix}lease AS lease SET holder = NULL FROM own WHERE lease.name = own.name`,
          [rowsOf(leases)],
        );
      },
    },
    async fence(queries, leases) {
      const held = await queries.read<Lease>(own("SHARE"), [rowsOf(leases)]);
      const lost = leases.find(({ name, term }) => !held.some((one) => one.name === name && one.term === term));
      if (lost !== undefined) throw fenced(lost);
    },
    lose(leases) {
      for (const { name, term } of leases) holders.set(name, { term, holder: NOBODY });
      return fenced(leases[0]!);
    },
  };
}
