// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";

test("another event at the place of one that went away with a network that went back is told", async () => {
  const { network, fixture } = await follow(simulate(), 10);
  network.close({});
  network.closeEmpty(10);
  await untilAtTip(fixture);
  const gone = network.emitted.at(-1)!;
  network.goBack(11);
  network.close({});
  network.closeEmpty(3);
  assert.equal(network.emitted.at(-1)!.ledger, gone.ledger);
  for (let turns = 0; turns < 10; turns++) {
    await fixture.turn();
    fixture.clock.pass(2_500);
  }
  await untilAtTip(fixture);
  const hashes = hashesOf(network.emitted);
  const told = await readAll(fixture.history);
  assert.deepEqual(told.filter((hash) => hashes.slice(-2).includes(hash)), hashes.slice(-2));
});
