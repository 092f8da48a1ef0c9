// needs: once
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { SETTINGS } from "../../lib/config.ts";
import { STREAM_LIMITS } from "../../lib/events/streams.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import { readDoc } from "./tools.ts";

const page = readDoc("several-gateways.md");
const upgradePage = readDoc("backup-and-upgrade.md");
const source = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url).href), "utf8");

/** A constant of a source file, by its name. */
function constantOf(path: string, name: string): number {
  const found = new RegExp(`^(?:export )?const ${name} = ([\\d_]+);$`, "m").exec(source(path));
  assert.ok(found, `${path} has no number ${name}`);
  return Number(found[1]!.replaceAll("_", ""));
}

function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  return ms < 120_000 ? `${ms / 1_000} s` : `${ms / 60_000} min`;
}

const submitMs = Number(SETTINGS.submitTimeoutMs.standard);
const pollMs = Number(SETTINGS.pollMs.standard);
const lookMs = constantOf("lib/webhooks/delivery/worker.ts", "LOOK_MS");

/** The table of how soon another gateway takes over each lease of a dead one. */
function deathTable(): string {
  const watcherMs = constantOf("lib/events/log_writer.ts", "SHORTEST_LEASE_MS");
  const partitions = "lib/webhooks/delivery/partitions.ts";
  const partitionMs = constantOf(partitions, "LEASE_MS") + constantOf(partitions, "LOOK_MS");
  const tokensMs = constantOf("lib/limits/leased_bucket.ts", "LEASE_MS");
  const forgettingMs = constantOf("lib/store/retention.ts", "LEASE_MS");
  const reconcilingMs = constantOf("lib/gateway/reconciliations.ts", "LEASE_MS");
  return [
    "| what it held | is another's after, at most |",
    "|---|---|",
    `| watching the network | ${duration(watcherMs + pollMs)}; with \`SERVICE_API_POLL_MS\` above ` +
    `${watcherMs / 3} four polls |`,
    `| its share of the webhooks | ${duration(partitionMs)} |`,
    `| tokens of keys' rates, a tenth of each bucket at most | ${duration(tokensMs)}; they are missing until then |`,
    `| the hourly retention job | ${duration(forgettingMs)} |`,
    `| the daily [reconciliation](books.md) | ${duration(reconcilingMs)} |`,
  ].join("\n");
}

/** The table of how soon a gateway sees another gateway's changes. */
function sharingTable(): string {
  const keysMs = constantOf("lib/keys/verifier.ts", "MAX_STALE_MS");
  const usedMs = constantOf("lib/keys/verifier.ts", "USE_INTERVAL_MS") +
    constantOf("lib/keys/use_tracker.ts", "FLUSH_MS");
  const newsMs = constantOf("lib/store/postgres/log.ts", "NOTIFY_EVERY_MS");
  return [
    "| what | is seen at the others after about |",
    "|---|---|",
    "| rates of keys, idempotency keys, nonces, webhooks of a key and their tests | at once: counted in the database |",
    "| an event, at `GET /v1/events` | at once |",
    `| an event, at live streams and webhooks | ${duration(newsMs)} in quiet times; ${
      duration(Math.max(lookMs, pollMs))
    } ` +
    "through a transaction pooler |",
    `| what a submit has changed, at every read | ${duration(constantOf("lib/gateway/shared_state.ts", "LOOK_MS"))} |`,
    `| an API key that was made, disabled or deleted | ${duration(keysMs)} |`,
    `| a webhook that was made or deleted | ${duration(lookMs)} |`,
    `| when a key was last used | ${duration(usedMs)} |`,
  ].join("\n");
}

function between(name: string): string | undefined {
  return new RegExp(`<!-- ${name}:.*-->\\n([\\s\\S]*?)\\n?<!-- /${name} -->`).exec(page)?.[1];
}

test("the page's table of a dead gateway's leases has the times of the code", () => {
  assert.equal(between("figures of a death"), deathTable());
});

test("the page's table of delays between gateways has the times of the code", () => {
  assert.equal(between("figures of sharing"), sharingTable());
});

/** How long a stop may take: the farewell, the drain, and the steps behind it. */
function stopMs(): { farewellMs: number; drainMs: number; stepsMs: number } {
  const steps = [...source("lib/gateway/gateway.ts").matchAll(/boundMs: ([\d_]+)/g)];
  assert.ok(steps.length >= 5);
  const closing = source("cli/serve_gateway.ts").match(/boundMs: CLOSE_MS/g)!.length;
  return {
    farewellMs: constantOf("cli/serve.ts", "FAREWELL_MS"),
    drainMs: submitMs + constantOf("cli/serve_gateway.ts", "DRAIN_MARGIN_MS"),
    stepsMs: steps.reduce((sum, [, ms]) => sum + Number(ms!.replaceAll("_", "")), 0) +
      closing * constantOf("cli/serve_gateway.ts", "CLOSE_MS"),
  };
}

test("the upgrade page, the Compose file and the manifest give the gateway enough time to stop", () => {
  const { farewellMs, drainMs, stepsMs } = stopMs();
  for (const ms of [farewellMs, drainMs, stepsMs]) assert.ok(upgradePage.includes(duration(ms)), duration(ms));
  const neededMs = farewellMs + drainMs + stepsMs;
  const graceSeconds = Number(/^ {2}stop_grace_period: (\d+)s$/m.exec(readDoc("compose.yaml"))![1]);
  assert.ok(graceSeconds * 1_000 > neededMs);
  assert.ok(upgradePage.includes(`Give it ${graceSeconds} s before a kill`));
  const manifest = readDoc("kubernetes.yaml");
  const seconds = (pattern: RegExp) => Number(pattern.exec(manifest)![1]);
  const sleepSeconds = seconds(/preStop: \{ sleep: \{ seconds: (\d+) \} \}/);
  assert.ok(seconds(/terminationGracePeriodSeconds: (\d+)/) * 1_000 > neededMs + sleepSeconds * 1_000);
  // During the sleep the probe fails often enough for the Service to remove the pod.
  assert.ok(sleepSeconds > seconds(/periodSeconds: (\d+)/) * seconds(/failureThreshold: (\d+)/));
});

test("the pages state the connections, stream limits and times of the code", () => {
  const { poolSize } = parsePostgresSetting("postgres://gateway@db.example.com/gateway", {});
  assert.ok(readDoc("postgres.md").includes(`(8 + 1) × ${poolSize + 1} = ${9 * (poolSize + 1)}`));
  assert.equal(constantOf("lib/store/postgres/pool.ts", "IDLE_MS"), 300_000, "five minutes");
  assert.ok(page.includes(`${STREAM_LIMITS.perKey} of a key and ${STREAM_LIMITS.inAll} in all`));
  assert.equal(constantOf("lib/events/streams.ts", "LEDGER_MS"), 5_000, "a stream says something every five seconds");
  assert.ok(page.includes(`\`SERVICE_API_SUBMIT_TIMEOUT_MS\` (${duration(submitMs)})`));
});

test("HAProxy waits longer than the longest submit takes, and detects a stop before the gateway stops accepting connections", () => {
  const text = readDoc("haproxy.cfg");
  const serverSeconds = Number(/timeout server (\d+)s/.exec(text)![1]);
  assert.ok(serverSeconds * 1_000 >= submitMs + 10_000);
  assert.ok(page.includes(`waits ${serverSeconds} s for an answer`));
  const [, everyMs, misses] = /check inter (\d+)ms fall (\d+)/.exec(text)!;
  assert.ok(Number(everyMs) * Number(misses) < constantOf("cli/serve.ts", "FAREWELL_MS"));
});

test("the alerts and metrics that the monitoring page names exist", () => {
  const alerts = readDoc("alerts.yml");
  const page = readDoc("monitoring.md");
  for (const [alert] of page.matchAll(/\bGateway[A-Z]\w+/g)) assert.ok(alerts.includes(`alert: ${alert}\n`), alert);
  const series = source("lib/gateway/gateway_metrics.ts");
  const named = [...page.matchAll(/`(gateway_\w+)`/g)].map(([, name]) => name!);
  assert.ok(named.length >= 4);
  for (const name of named) assert.ok(series.includes(`"${name}"`), name);
});
