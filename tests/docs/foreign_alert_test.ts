// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createForeignMovements } from "../../lib/escrow/assets/foreign_movements.ts";
import { createGatewayMetrics } from "../../lib/gateway/gateway_metrics.ts";
import { append, eventAt, memoryStore, START_MS } from "../webhooks/parts.ts";
import { alertWithinTheHour, ALL_WELL } from "./alert_within_the_hour.ts";

const FOREIGN = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
const fires = alertWithinTheHour("GatewayForeignMovement");

test("a movement in a foreign asset that happens while a gateway is restarted fires its alert, for an hour", async () => {
  const store = await memoryStore();
  const { contractId } = eventAt(1);
  const assets = { has: (asset: string) => asset !== FOREIGN };
  let nowMs = START_MS;

  /** A gateway that runs for so many minutes; at which of them its alert fires. */
  async function run(minutes: number): Promise<number[]> {
    const metrics = createGatewayMetrics({ now: () => nowMs });
    const movements = createForeignMovements({ log: store.events, contractIds: [contractId], assets, onForeign() {} });
    const fired: number[] = [];
    for (let minute = 0; minute < minutes; minute++, nowMs += 60_000) {
      await movements.look();
      const page = await metrics.render({ ...ALL_WELL, foreignMovements: movements.found });
      if (fires(page, nowMs)) fired.push(minute);
    }
    return fired;
  }

  await append(store, [eventAt(101, 1, { asset: FOREIGN, knownAt: START_MS / 1_000 - 86_400 })], 101);
  assert.deepEqual(await run(5), [], "what was a day ago");
  await append(store, [eventAt(102, 1, { asset: FOREIGN, knownAt: nowMs / 1_000 })], 102);
  assert.deepEqual(await run(90), Array.from({ length: 60 }, (_, minute) => minute));
  await store.close();
});
