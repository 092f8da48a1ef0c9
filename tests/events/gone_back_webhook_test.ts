// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { heightOf } from "../../lib/store/event.ts";
import { subscriptionOf } from "../webhooks/parts.ts";
import { createFixture, type Fixture, simulate, untilAtTip } from "./parts.ts";

test("a webhook that is created during a revert of the network gets the next ledgers", async () => {
  const { network, node } = simulate();
  for (let ledger = 0; ledger < 5; ledger++) network.close({});
  network.closeEmpty(10);
  let scanned = 0;
  let made: Promise<unknown> | undefined;
  const fixture: Fixture = await createFixture(network, {
    nodes: [node],
    // The gateway that creates the webhook has read the head before the watcher committed the revert.
    beforeAppend({ state }) {
      if (state.scannedLedger >= scanned || made !== undefined) return;
      const startHeight = heightOf(0, scanned + 1);
      made = fixture.bareStore.subscriptions.insert(subscriptionOf("wh_1", { startHeight }), 10);
    },
  });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
  scanned = (await fixture.state()).scannedLedger;
  network.goBack(8);
  network.close({});
  network.close({});
  for (let turns = 0; turns < 5; turns++) {
    await untilAtTip(fixture);
    fixture.clock.pass(2_500);
  }
  await made;
  const { startHeight } = (await fixture.store.subscriptions.get("wh_1"))!;
  assert.ok(
    startHeight < heightOf(1, network.latest),
    `it starts at ${startHeight}, the network is at ${network.latest}`,
  );
});
