import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as othersTurn } from "node:timers/promises";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { createCourier } from "../../lib/webhooks/delivery/courier.ts";
import { createTestClock } from "../events/parts.ts";
import { type Answer, commitEvents, eventAt, insert, scriptedAttempts, START_MS, subscriptionOf } from "./parts.ts";

const directory = mkdtempSync(join(tmpdir(), "restart-"));
after(() => rmSync(directory, { recursive: true }));

/** A courier whose endpoints all answer the same; on a clock that nobody advances. */
function courierOn(store: Store, answer: Answer) {
  const clock = createTestClock(START_MS);
  const script = scriptedAttempts(clock.now, () => answer);
  const courier = createCourier({
    store,
    attempt: script.attempt,
    isKeyEnabled: () => Promise.resolve(true),
    recipient: ({ id, url }) => ({ id, url, secrets: [] }),
    message: (event) => ({ id: event.id, type: event.type!, json: "{}" }),
    now: clock.now,
    wait: clock.wait,
    onProblem: (message) => assert.fail(message),
  });
  courier.start();
  return { posted: script.posted, stop: () => courier.stop({ drainMs: 0 }) };
}

async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 60_000; !isSo(); await othersTurn()) assert.ok(Date.now() < deadline, "never");
}

for (const scheme of runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"]) {
  test(`on ${scheme} a gateway that starts after one was killed delivers at once what that one had leased`, async () => {
    const setting = `${scheme}:${join(directory, scheme)}`;
    const [dead, alive] = [await openStore(setting), await openStore(setting)];
    await insert(dead, subscriptionOf("wh_1"));
    await commitEvents(dead, [eventAt(101)], 101);
    const { position } = eventAt(101);
    const delivery = { id: position, subscriptionId: "wh_1", position, attempts: 0 };
    await dead.commitFanOut({
      expected: undefined,
      cursor: { position, lastDueAtMs: START_MS },
      deliveries: [{ ...delivery, dueAtMs: START_MS, createdAtMs: START_MS }],
    });
    const killed = courierOn(dead, new Promise(() => {}));
    await until(() => killed.posted.length === 1);

    await alive.holdForServing();
    const restarted = courierOn(alive, "delivered");
    await until(() => restarted.posted.length === 1);
    await restarted.stop();
    assert.equal((await alive.backlog()).pending, 0);
    // What was under way is not written down any more.
    await killed.stop();
    assert.deepEqual((await alive.listAttempts("wh_1", { limit: 9 })).map(({ outcome }) => outcome), ["delivered"]);
    await dead.close();
    await alive.close();
  });
}
