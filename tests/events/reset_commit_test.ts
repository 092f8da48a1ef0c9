// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError, type WatcherStep } from "../../lib/store/store.ts";
import { createFixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";

test("the watcher starts a new epoch also when the first commit of a reset fails", async () => {
  const { network, node } = simulate({ first: 1_000 });
  for (let ledger = 0; ledger < 15; ledger++) network.close({});
  const first = await createFixture(network, { nodes: [node] });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(first);
  await first.watcher.stop();
  network.reset(1_000);
  for (let ledger = 0; ledger < 30; ledger++) network.close({});
  let failures = 0;
  const again = await restart(first, {
    beforeAppend({ state }: WatcherStep) {
      if (state.epoch === 1 && failures++ === 0) throw new StoreError("unavailable", "the store is away");
    },
  });
  for (let turns = 0; turns < 20; turns++) {
    await again.turn();
    again.clock.pass(2_500);
  }
  assert.ok(failures > 0);
  assert.equal((await again.state()).epoch, 1);
  assert.deepEqual(await readAll(again.history), hashesOf(network.emitted));
});

test("the watcher loses no event of a network that reverted while the store fails", async () => {
  const { network, node } = simulate({ first: 1_000 });
  for (let ledger = 0; ledger < 15; ledger++) network.close({});
  const first = await createFixture(network, { nodes: [node] });
  for (let turns = 0; turns < 4; turns++) await untilAtTip(first);
  for (let ledger = 0; ledger < 6; ledger++) network.close({});
  await untilAtTip(first);
  const scanned = (await first.state()).scannedLedger;
  let failing = false;
  let failures = 0;
  const again = await restart(first, {
    beforeAppend({ state }) {
      if (failing && state.scannedLedger < scanned) {
        failures++;
        throw new StoreError("unavailable", "the store is away");
      }
    },
  });
  await untilAtTip(again);
  network.goBack(4, 3);
  network.close({});
  failing = true;
  for (let turns = 0; turns < 6; turns++) {
    await again.turn();
    again.clock.pass(2_500);
  }
  for (let ledger = 0; ledger < 10; ledger++) network.close({});
  failing = false;
  for (let turns = 0; turns < 400; turns++) {
    await again.turn();
    again.clock.pass(2_500);
    if (turns % 2 === 0) network.close();
  }
  assert.ok(failures > 0);
  const logged = await readAll(again.history);
  const missing = hashesOf(network.emitted).filter((hash) => !logged.includes(hash));
  assert.deepEqual(missing, []);
});
