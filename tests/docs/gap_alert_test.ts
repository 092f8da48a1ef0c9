// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createGatewayMetrics } from "../../lib/metrics/gateway_metrics.ts";
import { type Fixture, follow, restart, simulate, START_MS, untilAtTip } from "../events/parts.ts";
import { alertWithinTheHour, ALL_WELL } from "./alert_within_the_hour.ts";

const fires = alertWithinTheHour("GatewayHistoryGap");

/** Whether the alert fires at any minute of so many, by the clock of a Prometheus elsewhere. */
async function firesWithin({ clock, history }: Fixture, minutes: number): Promise<boolean> {
  const metrics = createGatewayMetrics({ now: clock.now });
  let hasFired = false;
  for (let minute = 0; minute < minutes; minute++) {
    const page = await metrics.render({ ...ALL_WELL, history: history.status });
    hasFired ||= fires(page, START_MS + clock.monotonicMs());
    clock.pass(60_000);
  }
  return hasFired;
}

const DAY_MS = 86_400_000;
const CLOCKS = [["right", 0, 60], ["a day behind", -DAY_MS, 60], ["a day ahead", DAY_MS, 60]] as const;
for (const [clock, stepMs, minutes] of CLOCKS) {
  test(`a gap that a gateway finds at its start, its clock ${clock}, fires its alert for ${minutes} minutes`, async () => {
    const { network, fixture } = await follow(simulate({ retention: 10 }), 5);
    assert.equal(await firesWithin(fixture, 5), false);
    network.clock.pass(DAY_MS);
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    network.clock.step(stepMs);
    const later = await restart(fixture);
    await untilAtTip(later);
    assert.equal((await later.gaps()).length, 1);
    assert.equal(await firesWithin(later, minutes), true);
    assert.equal(await firesWithin(later, 30), false);
  });
}
