import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseExposition } from "../exposition.ts";
import { parseRulesYaml } from "./rules_yaml.ts";

/**
 * An alert of docs/alerts.yml that fires for the hour after a time that a metric tells. Answers whether it fires when
 * that page has just been scraped.
 */
export function alertWithinTheHour(name: string): (metrics: string, nowMs: number) => boolean {
  const text = readFileSync(fileURLToPath(new URL("../../docs/alerts.yml", import.meta.url).href), "utf8");
  const { groups } = parseRulesYaml(text) as unknown as { groups: { rules: { alert: string; expr: string }[] }[] };
  const { expr } = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === name)!;
  const [, metric] = /^time\(\) - (\w+) < 3600$/.exec(expr) ?? assert.fail(expr);
  return (metrics, nowMs) => nowMs / 1_000 - parseExposition(metrics).get(metric!)!.samples[0]!.value < 3_600;
}

/** What the metrics ask a gateway for that is well and does nothing. */
export const ALL_WELL = {
  ledger: () => ({ sequence: 1, closeTime: 1, clockDisagreement: () => undefined }),
  nodes: () => [],
  troubles: () => [],
  contracts: () => [],
  streams: () => 0,
  history: () => Promise.resolve({ lagLedgers: 0, gaps: [], undecodedEvents: 0 }),
  backlog: () => Promise.resolve({ pending: 0, rejected: 0, dead: 0, failing: 0, oldestSince: null }),
  foreignMovements: () => ({ count: 0, last: undefined }),
  expiring: () => Promise.resolve({ payments: 0, complete: true }),
};
