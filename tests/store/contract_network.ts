import assert from "node:assert/strict";
import { test } from "node:test";
import { storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

export function networkContract({ store, anotherHandle }: Subject): void {
  test("network.bind binds a new, unbound store permanently, and rejects another network with both names", async () => {
    assert.equal(await store().network.bound(), undefined);
    await store().network.bind("Test Network");
    await store().network.bind("Test Network");
    assert.equal(await store().network.bound(), "Test Network");
    const says = ["Test Network", "Public Network", store().location];
    await assert.rejects(store().network.bind("Public Network"), storeError("network_mismatch", ...says));
    assert.equal(await store().network.bound(), "Test Network");
  });

  test("one of two simultaneous binds succeeds, and the other is rejected", async () => {
    const other = await anotherHandle();
    const outcomes = await Promise.allSettled([store().network.bind("A"), other.network.bind("B")]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    const winner = outcomes[0]!.status === "fulfilled" ? "A" : "B";
    assert.equal(await store().network.bound(), winner);
  });
}
