import assert from "node:assert/strict";
import { test } from "node:test";
import { createGatewayMetrics } from "../../lib/metrics/gateway_metrics.ts";
import { type Fixture, follow, restart, simulate, untilAtTip } from "../events/parts.ts";
import { alertWithinTheHour, ALL_WELL } from "./alert_within_the_hour.ts";

const fires = alertWithinTheHour("GatewayHistoryGap");

/** Whether the alert fires at any minute of so many. */
async function firesWithin({ clock, history }: Fixture, minutes: number): Promise<boolean> {
  const metrics = createGatewayMetrics({ now: clock.now });
  let hasFired = false;
  for (let minute = 0; minute < minutes; minute++) {
    const page = await metrics.render({ ...ALL_WELL, history: history.status });
    hasFired ||= fires(page, clock.now());
    clock.pass(60_000);
  }
  return hasFired;
}

test("a gap that a gateway finds at its start, for it was off too long, fires its alert, for an hour", async () => {
  const { network, fixture } = await follow(simulate({ retention: 10 }), 5);
  assert.equal(await firesWithin(fixture, 5), false);
  const later = await restart(fixture);
  network.clock.pass(86_400_000);
  for (let ledger = 0; ledger < 30; ledger++) network.close({});
  await untilAtTip(later);
  assert.equal((await later.gaps()).length, 1);
  assert.equal(await firesWithin(later, 60), true);
  assert.equal(await firesWithin(later, 30), false);
});
