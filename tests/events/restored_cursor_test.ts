// needs: neutral
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createHistory, type History } from "../../lib/events/history.ts";
import { backUpStore } from "../../lib/store/file/backup.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { append, sampleEvent } from "../store/samples.ts";

const directory = mkdtempSync(join(tmpdir(), "restored-cursor-"));

function historyOf(store: Store): History {
  return createHistory({ store, head: { sequence: 1_010 } as Parameters<typeof createHistory>[0]["head"] });
}

const isRefused = (error: unknown) =>
  error instanceof GatewayError && error.code === "invalid_request" &&
  /^cursor is of a log that continued differently, .*backup. Begin again with fromLedger/.test(error.message);

describe("a cursor that is newer than a restored backup", () => {
  let restored: Store;
  let history: History;
  const cursors = new Map<string, string>();

  before(async () => {
    const setting = `sqlite:${join(directory, "gateway.db")}`;
    const store = await openStore(setting);
    await append(store, sampleEvent(1));
    cursors.set("of before", (await historyOf(store).page({ limit: 10 })).cursor);
    await backUpStore(setting, join(directory, "copy.db"));
    for (const n of [2, 3, 4]) await append(store, sampleEvent(n));
    for (const limit of [2, 4]) cursors.set(`after ${limit}`, (await historyOf(store).page({ limit })).cursor);
    const types = ["escrow.swept"];
    cursors.set("of a filter", (await historyOf(store).page({ limit: 10, filter: { types } })).cursor);
    await store.close();

    // The node has pruned event 3.
    restored = await openStore(`sqlite:${join(directory, "copy.db")}`);
    for (const n of [2, 4, 5, 6]) await append(restored, sampleEvent(n));
    history = historyOf(restored);
  });

  after(async () => {
    await restored.close();
    rmSync(directory, { recursive: true });
  });

  async function pageAfter(which: string): Promise<number[]> {
    const { events } = await history.page({ limit: 10, cursor: cursors.get(which)! });
    return events.map(({ ledger }) => ledger - 1_000);
  }

  test("is refused when another event has its sequence number, because it would skip events", async () => {
    await assert.rejects(pageAfter("after 4"), isRefused);
    await assert.rejects(pageAfter("of a filter"), isRefused);
  });

  test("is valid when the same event has its sequence number, and so is an older cursor", async () => {
    assert.deepEqual(await pageAfter("after 2"), [4, 5, 6]);
    assert.deepEqual(await pageAfter("of before"), [2, 4, 5, 6]);
  });
});
