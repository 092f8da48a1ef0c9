// needs: once
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { JITTER, SCHEDULE } from "../../lib/retry_schedule.ts";
import { isLong } from "../tier.ts";
import { findPostgres } from "../store/postgres_cluster.ts";
import { mostBeyondRate } from "./fleet_clients.ts";
import { type FleetRun, type FleetRunOptions, lost, RATE, runFleet } from "./fleet_run.ts";
import { assertNone, assertReceipts } from "./receipts.ts";

/*
 * Four gateways in their own processes on one PostgreSQL database. The gateways are killed, suspended for longer than their
 * leases, cut off from the database and get wrong clocks. The database restarts, ends sessions and runs out of connections.
 * The short form has two gateways and fewer faults. FAULT_ROUNDS: how often all of it happens, each time to
 * others; FAULT_SEED: repeats the choices of an earlier run.
 */
const isShort = !isLong && process.env.FAULT_ROUNDS === undefined;
const ROUNDS = Number(process.env.FAULT_ROUNDS ?? 1);
const SIZE: Pick<FleetRunOptions, "count" | "kills" | "troubles"> = isShort
  ? { count: 2, kills: 1, troubles: ["sessions ended", "crashed"] }
  : { count: 4, kills: 3, troubles: ["sessions ended", "restarted", "crashed", "full"] };
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000_000);

function assertLog({ happenings, logs, followed }: FleetRun): void {
  for (const log of logs) assert.deepEqual(log, logs[0], "all gateways answer the same");
  const ids = logs[0]!.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, "no event is in the log twice");
  const times = new Map<string, number>();
  for (const { txHash } of logs[0]!) times.set(txHash, (times.get(txHash) ?? 0) + 1);
  assertNone(happenings.filter(({ txHash }) => times.get(txHash) !== 1), "are not in the log once");
  for (const [reader, seen] of followed) {
    const wrong = seen.findIndex((id, at) => id !== ids[at]);
    assert.equal(wrong, -1, `${reader}: ${seen[wrong]} where the log has ${ids[wrong]}, as number ${wrong}`);
    assert.equal(seen.length, ids.length, `${reader}: has not read all`);
  }
}

function assertDeliveries(run: FleetRun): void {
  for (const listener of run.listeners) {
    assertNone(lost(run, listener), `were not received by ${listener.name}, nor stored for it`);
    const ended = run.kept.get(listener.name)!.filter(({ state }) => state !== "retrying");
    assertNone(ended, `were given up for ${listener.name}`);
    // A clock step delays no retry.
    const late = run.kept.get(listener.name)!.filter(({ attempts, dueInMs }) =>
      dueInMs > SCHEDULE[attempts - 1]! * 1_000 * (1 + JITTER)
    );
    assertNone(late, `are retried too late for ${listener.name}`);
  }
  assertReceipts(run);
  const retrying = [...run.kept.values()].flat().length;
  assert.equal(run.waiting, 0, "only failed deliveries wait");
  for (const said of run.saidKept) {
    assert.deepEqual([said.rejected, said.dead], [0, 0]);
    assert.ok(said.retrying >= retrying, "the status counts the stored failures");
  }
}

function describeFleet(programs: string): void {
  describe(`${SIZE.count} gateways on one PostgreSQL database with ${ROUNDS} rounds of faults`, () => {
    test("lose no event, append no event twice, exceed no rate limit, and recover by themselves", {
      timeout: 600_000 + ROUNDS * 60_000,
    }, async () => {
      console.log(`FAULT_SEED=${SEED}`);
      const startedMs = Date.now();
      const run = await runFleet({ ...SIZE, seed: SEED, rounds: ROUNDS, programs });
      const { happenings, receipts, admissions, kept, recoveryMs } = run;
      const admitted = admissions.flat();
      console.log(
        `${happenings.length} events, ${receipts.length} posts, ${[...kept.values()].flat().length} kept, ` +
          `${admissions.map(({ length }) => length)} admitted, recovered in ${Math.round(recoveryMs / 1_000)} s, ` +
          `${Math.round((Date.now() - startedMs) / 1_000)} s`,
      );
      assert.deepEqual(run.ended, [], "no gateway ended by itself");
      assert.ok(happenings.length > 10, "cards were busy");
      assertLog(run);
      assertDeliveries(run);
      assert.ok(admitted.length > RATE / 2, "the limit was tried");
      const beyond = mostBeyondRate(admitted, RATE);
      assert.ok(beyond <= 0, `${beyond} more than ${RATE} a minute were let through`);
    });
  });
}

const programs = findPostgres();
if (programs !== undefined) describeFleet(programs);
else {describe("four gateways on PostgreSQL", () =>
    void test("need PostgreSQL's programs, which are not installed", { skip: true }));}
