// Plants bugs, one at a time, into a copy of the product, and tells how many worlds it takes until one shows:
//   planted.ts [--only NAME] [--worlds N]
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";

/** A bug: what stands in a file, and what stands there instead. */
export interface PlantedBug {
  name: string;
  file: string;
  from: string;
  to: string;
}

const COURIER = "lib/webhooks/delivery/courier.ts";
const READER = "lib/webhooks/delivery/reader.ts";

export const PLANTED: PlantedBug[] = [
  {
    name: "a cursor passes what is still being posted",
    file: READER,
    from: "  for (const first of outstanding) return first - 1;\n",
    to: "  void outstanding;\n",
  },
  {
    name: "settled before it is posted",
    file: READER,
    from: "  track.outstanding.add(event.sequence);\n",
    to: "",
  },
  {
    name: "a page's cursor passes one event too many",
    file: "lib/events/log_reader.ts",
    from: "lastRead ?? Math.max(place.sequence, last)",
    to: "(lastRead ?? Math.max(place.sequence, last) - 1) + 1",
  },
  {
    name: "commits are not fenced",
    file: "lib/store/sqlite/leases.ts",
    from: "if (isOwn.get(name, term) === undefined) {",
    to: "if (isOwn.get(name, term) === null) {",
  },
  {
    name: "the leases of the dead are never over",
    file: "lib/store/sqlite/leases.ts",
    from: " || row.until_ms <= now()",
    to: "",
  },
  {
    name: "what a stop cuts off counts as delivered",
    file: COURIER,
    from: `if (aborting.signal.aborted && made.outcome !== "delivered") return;`,
    to: `if (aborting.signal.aborted) made.outcome = "delivered";`,
  },
  {
    name: "a reset is believed at one answer",
    file: "lib/events/reset_check.ts",
    from: `if (nowMs - suspicion.atMs < apartMs) return { kind: "doubtful" };`,
    to: "void apartMs;",
  },
  {
    name: "a height is believed at one answer",
    file: "lib/events/watcher.ts",
    from: "isWithheld = scannedLedger > sequence;",
    to: "isWithheld = scannedLedger > sequence + 10 ** 10;",
  },
  {
    name: "due times stand where a jumping clock put them",
    file: COURIER,
    from: "await store.deliveries.clampDue(reader.subscription.id, latestDueAtMs);\n    reader.nextDueAtMs = Math.min(",
    to: "reader.nextDueAtMs = Math.max(",
  },
  {
    name: "there is no second look",
    file: "lib/events/repairs.ts",
    from: "if (nowMs < nextMs || toLedger <= checkedLedger) return 0;",
    to: "if (nowMs < Infinity) return 0;",
  },
  {
    name: "what a node has pruned is passed over in silence",
    file: "lib/events/coverage.ts",
    from: "  const next = withGap(rest, state.scannedLedger + 1, oldestLedger - 1, ids, noticedAt);\n",
    to: "  const next = withGap(rest, oldestLedger, oldestLedger - 1, ids, noticedAt);\n",
  },
  {
    name: "one that is full misses the event that comes next",
    file: COURIER,
    from: "reader.log.readThrough = event.sequence - 1;",
    to: "reader.log.readThrough = event.sequence;",
  },
  {
    name: "a disabled key's webhooks go on",
    file: COURIER,
    from: "if (!await parts.isKeyEnabled(reader.subscription.keyId)) {",
    to: "if (await parts.isKeyEnabled(reader.subscription.keyId) === undefined) {",
  },
  {
    name: "a disabled key is let in",
    file: "lib/keys/verifier.ts",
    from: "      if (await source.changed()) {\n",
    to: "      if (await source.changed() && cache.size < 0) {\n",
  },
  {
    name: "leased tokens are not taken from the bucket",
    file: "lib/limits/leased_bucket.ts",
    from: "    units -= leased * UNITS_PER_TOKEN;\n",
    to: "",
  },
  {
    name: "what a gateway leased it may spend for ever",
    file: "lib/limits/shared_limiter.ts",
    from: "const tokens = nowMs < key.spendBy ? key.tokens : 0;",
    to: "const tokens = key.tokens;",
  },
  {
    name: "what failed is tried only once",
    file: COURIER,
    from: "      reader.retrying.delete(delivery.sequence);\n",
    to: "",
  },
  {
    name: "types are not looked at",
    file: "lib/webhooks/delivery/matching.ts",
    from: "if (matches(filter, event)) found.push(listener);",
    to: "if (matches({ ...filter, types: undefined }, event)) found.push(listener);",
  },
  {
    name: "ordered webhooks have several posts under way",
    file: READER,
    from: "isDown(reader) || reader.subscription.ordered ? 1",
    to: "isDown(reader) ? 1",
  },
  {
    name: "ordered webhooks do not wait at what failed",
    file: READER,
    from: "reader.retryingCount + reader.unsettledFailures > 0",
    to: "reader.retryingCount + reader.unsettledFailures > 1_000",
  },
  {
    name: "the next attempt is months away",
    file: "lib/webhooks/delivery/schedule.ts",
    from: "  5,\n  30,\n",
    to: "  5_000_000,\n  30,\n",
  },
  {
    name: "a failure is not kept",
    file: "lib/webhooks/delivery/settlement.ts",
    from: "if (delivery.failed !== undefined) (settlement.failed ??= []).push(delivery.failed);",
    to: 'if (delivery.failed?.state === "dead") (settlement.failed ??= []).push(delivery.failed);',
  },
  {
    name: "a webhook that is gone is delivered to",
    file: COURIER,
    from: "    for (const [id, reader] of readers) if (!there.has(id) ||",
    to: '    for (const [id, reader] of readers) if (id === "" && !there.has(id) ||',
  },
  {
    name: "what becomes known late is taken for known",
    file: "lib/store/sqlite/events.ts",
    from: "if (isDecoded.get(...id) !== undefined || isUndecoded",
    to:
      'if (id[0] < (JSON.parse(readState.get()?.state ?? "{}").checkedLedger ?? 0) || isDecoded.get(...id) !== undefined || isUndecoded',
  },
];

const root = fileURLToPath(import.meta.resolve("../.."));

/** How the simulation of a copy with this bug ended: its last lines, and whether a world broke. */
export async function plant(
  bug: PlantedBug,
  worlds: number,
): Promise<{ found: boolean; said: string; seconds: number }> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-planted-"));
  try {
    for (const part of ["lib", "cli", "tests", "docs", "package.json", "deno.json"]) {
      cpSync(join(root, part), join(folder, part), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const path = join(folder, bug.file);
    const source = readFileSync(path, "utf8");
    if (!source.includes(bug.from)) throw new Error(`"${bug.name}": ${bug.file} does not hold what is to be changed`);
    writeFileSync(path, source.replace(bug.from, () => bug.to));
    const began = performance.now();
    const command = process.versions.bun ? [] : ["run", "-A", "--no-check"];
    const args = [...command, "tests/simulation/simulate.ts", "--seeds", String(worlds), "--until-broken"];
    const { stdout, failed } = await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 })
      .then(({ stdout }) => ({ stdout, failed: false }), ({ stdout }) => ({ stdout: String(stdout), failed: true }));
    return { found: failed && /breaks:/.test(stdout), said: stdout, seconds: (performance.now() - began) / 1_000 };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { only: { type: "string" }, worlds: { type: "string", default: "40" } } });
  let missed = 0;
  for (const bug of PLANTED.filter(({ name }) => values.only === undefined || name.includes(values.only))) {
    const { found, said, seconds } = await plant(bug, Number(values.worlds));
    const [seed, first] = /seed (\d+) .*breaks:\n\s*(.*)/.exec(said)?.slice(1) ?? [];
    console.log(
      found
        ? `found in world ${seed} (${seconds.toFixed(0)} s): ${bug.name}: ${first}`
        : `NOT FOUND (${seconds.toFixed(0)} s): ${bug.name}${
          /breaks/.test(said) ? "" : `: ${said.trim().split("\n").at(-1)}`
        }`,
    );
    if (!found) missed++;
  }
  process.exit(missed === 0 ? 0 : 1);
}
