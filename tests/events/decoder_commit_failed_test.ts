// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreError } from "../../lib/store/store.ts";
import { createFixture, hashesOf, readAll, restart, simulate } from "./parts.ts";

test("a newer program decodes raw events of an older one although the older program's store failed at its start", async () => {
  const { network, node } = simulate();
  const newer = { decoder: "newer", decode: () => ({ type: "escrow.funded" }) };
  let fails = false;
  const older = {
    decoder: "older",
    decode: () => undefined,
    beforeAppend() {
      if (fails) throw new StoreError("unavailable", "not just now");
    },
  };
  // The older program, the newer one, back to the older one, and the newer one again.
  network.close({});
  let fixture = await createFixture(network, { nodes: [node], ...older });
  await fixture.turn();
  fixture = await restart(fixture, newer);
  await fixture.turn();
  assert.equal((await fixture.history.status()).undecodedEvents, 0);
  fixture = await restart(fixture, older);
  fails = true;
  assert.equal((await fixture.turn()).outcome, "failed");
  fails = false;
  network.close({});
  await fixture.turn();
  assert.equal((await fixture.history.status()).undecodedEvents, 1);
  fixture = await restart(fixture, newer);
  await fixture.turn();
  assert.equal((await fixture.history.status()).undecodedEvents, 0);
  assert.deepEqual((await readAll(fixture.history)).toSorted(), hashesOf(network.emitted).toSorted());
});
