// needs: neutral
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { COMMANDS } from "../../cli/command_line.ts";
import { ENV_PREFIX, SETTINGS } from "../../lib/config.ts";
import { openApiDocument } from "../../lib/http/openapi.ts";
import { NOUNS } from "../../lib/http/routes/routes.ts";
import { SCHEDULE } from "../../lib/retry_schedule.ts";
import { MAX_ATTEMPTS } from "../../lib/webhooks/delivery/schedule.ts";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const page = (name: string) => readFileSync(join(ROOT, "docs", `${name}.md`), "utf8");

/** The table of settings. The default store depends on the runtime. */
function settingsTable(): string {
  const rows = Object.values(SETTINGS).map((setting) => {
    const { env, flag, standard, help } = setting as { env: string; flag?: string; standard?: string; help: string };
    const value = env === "STORE"
      ? "`sqlite:gateway.db`, on Deno `deno-kv:gateway.kv`"
      : standard
      ? `\`${standard}\``
      : "–";
    return `| \`${ENV_PREFIX}${env}\` | ${flag === undefined ? "–" : `\`--${flag}\``} | ${value} | ${help} |`;
  });
  return ["| setting | flag | standard | |", "|---|---|---|---|", ...rows].join("\n");
}

test("the table of settings matches lib/config.ts", () => {
  const found = /<!-- settings:.*-->\n([\s\S]*?)\n<!-- \/settings -->/.exec(page("settings"))?.[1];
  assert.equal(found, settingsTable());
});

test("the table of commands lists each command with its actions", async () => {
  const table = /<!-- commands:.*-->\n([\s\S]*?)\n<!-- \/commands -->/.exec(page("command-line"))![1]!;
  const rows = [...table.matchAll(/^\| `([\w-]+)` \| (.*?) \|/gm)].map(([, name, does]) => [name!, does!] as const);
  assert.deepEqual(rows.map(([name]) => name), Object.keys(COMMANDS));
  for (const [name, does] of rows) {
    const { actions = [] } = await COMMANDS[name]!.load();
    for (const action of actions) assert.ok(does.includes(`\`${action}\``), `${name} ${action}`);
  }
});

/** The table of retries, a column for each attempt. */
function scheduleTable(): string {
  const row = (cells: (string | number)[]) => `| ${cells.join(" | ")} |`;
  const attempts = Array.from({ length: MAX_ATTEMPTS }, (_, index) => index + 1);
  const days = Math.round(SCHEDULE.reduce((sum, seconds) => sum + seconds) / 86_400);
  return [
    row(["attempt", ...attempts]),
    `|${"---|".repeat(MAX_ATTEMPTS + 1)}`,
    row(["wait before it", "–", ...SCHEDULE.map(duration)]),
    "",
    `${MAX_ATTEMPTS} attempts over about ${days} days.`,
  ].join("\n");
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  return seconds < 3_600 ? `${seconds / 60} min` : `${seconds / 3_600} h`;
}

test("the table of retries matches lib/webhooks/delivery/schedule.ts", () => {
  const found = /<!-- schedule:.*-->\n([\s\S]*?)\n<!-- \/schedule -->/.exec(page("webhooks"))?.[1];
  assert.equal(found, scheduleTable());
});

test("the webhooks page's example delivery has each field of its event", () => {
  const { event } = JSON.parse(/```json\n([\s\S]*?)```/.exec(page("webhooks"))![1]!);
  assert.equal(event.type, "payment.authorized");
  const { components } = JSON.parse(JSON.stringify(openApiDocument(NOUNS, "1.0.0")));
  const { required } = components.schemas.PaymentAuthorized;
  assert.deepEqual(Object.keys(event).sort(), [...required].sort());
});
