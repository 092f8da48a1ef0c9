// needs: neutral
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createBypassMovements } from "../../lib/escrow/assets/bypass_movements.ts";
import { type Condition, createGatewayMetrics } from "../../lib/gateway/gateway_metrics.ts";
import { type Fixture, follow, restart, simulate, START_MS, untilAtTip } from "../events/parts.ts";
import { parseExposition } from "../exposition.ts";
import { append, eventAt, memoryStore } from "../webhooks/parts.ts";
import { parseRulesYaml } from "./rules_yaml.ts";

/** The expression of an alert of docs/alerts.yml. */
function expressionOf(name: string): string {
  const text = readFileSync(fileURLToPath(new URL("../../docs/alerts.yml", import.meta.url).href), "utf8");
  const { groups } = parseRulesYaml(text) as unknown as { groups: { rules: { alert: string; expr: string }[] }[] };
  return groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === name)!.expr;
}

/** Evaluates an alert `time() - METRIC < 3600` on a page of metrics scraped at `nowMs`. */
function alertWithinTheHour(name: string): (metrics: string, nowMs: number) => boolean {
  const expr = expressionOf(name);
  const [, metric] = /^time\(\) - (\w+) < 3600$/.exec(expr) ?? assert.fail(expr);
  return (metrics, nowMs) => nowMs / 1_000 - parseExposition(metrics).get(metric!)!.samples[0]!.value < 3_600;
}

/** A gateway that is well and does nothing. */
const ALL_WELL: Condition = {
  head: { sequence: 1, closeTime: 1, clockDisagreement: () => undefined },
  nodes: [],
  troubles: [],
  contracts: [],
  history: undefined,
  backlog: undefined,
  bypass: { count: 0, last: undefined },
  payments: undefined,
  solvency: undefined,
  reconciliation: undefined,
};

/** Whether GatewayAlone fires while `up` of `of` gateways answer. */
function firesAlone(up: number, of: number): boolean {
  const expr = expressionOf("GatewayAlone");
  const form = /^sum\(up\{job="gateway"\}\) (==|<=) (\d+) and count\(up\{job="gateway"\}\) > (\d+)$/;
  const [, compared, most, least] = form.exec(expr) ?? assert.fail(expr);
  return (compared === "<=" ? up <= Number(most) : up === Number(most)) && of > Number(least);
}

test("the alert GatewayAlone fires when one of several gateways is up, and when all are down", () => {
  assert.equal(firesAlone(2, 2), false);
  assert.equal(firesAlone(1, 2), true);
  assert.equal(firesAlone(0, 2), true);
  assert.equal(firesAlone(1, 1), false, "one that was never several");
});

const FOREIGN = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";

test("a movement of a foreign asset while the gateway restarts fires GatewayForeignMovement for one hour", async () => {
  const fires = alertWithinTheHour("GatewayForeignMovement");
  const store = await memoryStore();
  const { contractId } = eventAt(1);
  const assets = { has: (asset: string) => asset !== FOREIGN };
  let nowMs = START_MS;

  /** Runs a gateway for so many minutes; returns the minutes at which the alert fires. */
  async function run(minutes: number): Promise<number[]> {
    const metrics = createGatewayMetrics({ now: () => nowMs });
    const movements = createBypassMovements({ log: store.events, contractIds: [contractId], assets, onBypass() {} });
    const fired: number[] = [];
    for (let minute = 0; minute < minutes; minute++, nowMs += 60_000) {
      await movements.look();
      const page = metrics.render({ ...ALL_WELL, bypass: movements.found() }, 0);
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

/** Whether the alert fires within so many minutes, by the correct clock of Prometheus. */
async function firesWithin({ clock, history }: Fixture, minutes: number): Promise<boolean> {
  const fires = alertWithinTheHour("GatewayHistoryGap");
  const metrics = createGatewayMetrics({ now: clock.now });
  let hasFired = false;
  for (let minute = 0; minute < minutes; minute++) {
    const page = metrics.render({ ...ALL_WELL, history: await history.status() }, 0);
    hasFired ||= fires(page, START_MS + clock.monotonicMs());
    clock.pass(60_000);
  }
  return hasFired;
}

const DAY_MS = 86_400_000;
const CLOCKS = [["right", 0, 60], ["a day behind", -DAY_MS, 60], ["a day ahead", DAY_MS, 60]] as const;
for (const [clock, stepMs, minutes] of CLOCKS) {
  test(`a history gap that a gateway finds at its start fires GatewayHistoryGap for ${minutes} minutes, with its clock ${clock}`, async () => {
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
