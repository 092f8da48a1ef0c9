// needs: neutral
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCommandLine } from "../../cli/command_line.ts";
import { fakeIo } from "../cli/fake_io.ts";
import type { Family } from "../exposition.ts";
import { gatewayOfFile, METRICS_TOKEN } from "../http/test_gateway.ts";
import { parseRulesYaml } from "./rules_yaml.ts";

const file = (name: string) => readFileSync(fileURLToPath(new URL(`../../docs/${name}`, import.meta.url).href), "utf8");

let losses = 0;
const { api } = gatewayOfFile((on) => ({
  settings: { metricsToken: METRICS_TOKEN, pollMs: "50", assets: "native" },
  fetch: (url, init) =>
    JSON.parse(String(init.body)).method === "getEvents" && losses-- > 0
      ? Promise.reject(new TypeError("refused"))
      : on.fetch(url, init),
}));
let families: Map<string, Family>;
before(async () => void (families = await everyMetric()));

/** Uses the gateway until it exposes every metric, and returns them. */
async function everyMetric(): Promise<Map<string, Family>> {
  losses = 2;
  await api.registerDevice();
  // Makes a reconciliation, too.
  await api.gateway.tidy(30_000);
  const deadline = Date.now() + 60_000;
  while (true) {
    const found = await api.scrape();
    const late = ["gateway_watcher_notices_total", "gateway_events_scan_lag_ledgers", "gateway_escrow_missing"];
    const isComplete = late.every((name) => (found.get(name)?.samples.length ?? 0) > 0) &&
      (found.get("gateway_event_loop_delay_seconds")?.samples.at(-1)?.value ?? 0) > 0;
    if (isComplete || Date.now() > deadline) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Labels that Prometheus adds to every series. */
const TARGET_LABELS = ["job", "instance"];

/** Checks that an expression uses only metrics and labels that the gateway exposes. */
function checkExpression(expression: string): void {
  assert.equal(expression.split("(").length, expression.split(")").length, `parentheses: ${expression}`);
  const selectors = [...expression.matchAll(/\b(up|(?:gateway|process)_[a-z_]+)(?:\{([^}]*)\})?/g)];
  assert.ok(selectors.length > 0, `no metric: ${expression}`);
  const labels = new Set<string>(TARGET_LABELS);
  for (const [, name, matchers] of selectors) {
    const family = name === "up" ? undefined : families.get(name!.replace(/_(bucket|sum|count)$/, "")) ??
      families.get(name!);
    assert.ok(name === "up" || family !== undefined, `${name} is no metric of the gateway: ${expression}`);
    for (const sample of family?.samples ?? []) {
      if (sample.name === name) Object.keys(sample.labels).forEach((label) => labels.add(label));
    }
    for (const matcher of matchers?.split(",") ?? []) {
      const [, label] = /^([a-z_]+)(?:=|!=|=~|!~)"[^"]*"$/.exec(matcher) ?? assert.fail(`matcher ${matcher}`);
      assert.ok(labels.has(label!), `${name} has no label ${label}: ${expression}`);
    }
  }
  for (const [, by] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of by!.split(", ")) assert.ok(labels.has(label), `no label ${label}: ${expression}`);
  }
}

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; what_to_do?: string };
}

test("the alert rules parse, and use only metrics and labels that the gateway exposes", () => {
  const { groups } = parseRulesYaml(file("alerts.yml")) as unknown as { groups: { name: string; rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  assert.ok(rules.length >= 10);
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  for (const { alert, expr, for: duration, labels, annotations, ...rest } of rules) {
    assert.deepEqual(rest, {}, `${alert} has unknown fields`);
    assert.match(alert, /^Gateway[A-Z][A-Za-z]+$/);
    assert.match(duration ?? "1m", /^\d+[smh]$/);
    assert.match(labels.severity, /^(page|ticket)$/);
    assert.ok(annotations.summary.length > 10);
    checkExpression(expr);
  }
});

test("the commands in the alerts are complete: each has its required arguments and only flags that exist", async () => {
  const commands = [...file("alerts.yml").matchAll(/`gateway ([^`]+)`/g)].map(([, command]) => command!);
  assert.ok(commands.length >= 5);
  for (const command of commands) {
    const io = fakeIo();
    assert.equal(await runCommandLine(["help", command.split(" ")[0]!], io), 0, io.err);
    const usages = [...io.out.split("\n\n")[0]!.matchAll(/gateway (.+)/g)].map(([, usage]) => usage!);
    const [called, ...flags] = command.split(" --");
    assert.ok(
      usages.some((usage) => usage.replace(/ \[.*/, "") === called),
      `gateway ${command}: ${usages.join(", ")}`,
    );
    for (const flag of flags) assert.ok(io.out.includes(`--${flag.split(" ")[0]} `), `gateway ${command}: --${flag}`);
  }
});

test("the Grafana board parses, its panels do not overlap, and its queries use only metrics that the gateway exposes", () => {
  const board = JSON.parse(file("grafana.json"));
  assert.equal(new Set(board.panels.map(({ id }: { id: number }) => id)).size, board.panels.length);
  const places = new Set<string>();
  for (const { title, gridPos: { x, y, w, h }, targets } of board.panels) {
    assert.ok(title && x + w <= 24 && h > 0, title);
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        assert.ok(!places.has(`${column} ${row}`), `${title} overlaps`);
        places.add(`${column} ${row}`);
      }
    }
    for (const { expr } of targets) checkExpression(expr.replaceAll("$__rate_interval", "5m"));
  }
});

test("the Grafana board shows every metric of the gateway", () => {
  const text = file("grafana.json");
  const absent = [...families.keys()].filter((name) => !text.includes(name) && name !== "process_start_time_seconds");
  assert.deepEqual(absent, []);
});
