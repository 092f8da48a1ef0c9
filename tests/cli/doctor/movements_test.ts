// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { movementsFinding } from "../../../cli/doctor/guards.ts";
import { readConfig } from "../../../cli/read_config.ts";
import { append, eventAt, memoryStore } from "../../webhooks/parts.ts";

const FOREIGN = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";

test("the finding about movements names how many events it checked", async () => {
  const store = await memoryStore();
  const { contractId } = eventAt(1);
  const config = { ...readConfig({}, { store: "memory:", assets: "native" }), paymentEscrow: contractId };
  await append(store, [eventAt(101, 1, { asset: FOREIGN })], 101);
  const one = await movementsFinding({ config, store });
  assert.equal(one.verdict, "warn");
  assert.match(one.found, /^1 in a wrong asset among the newest 5000 events; the last is /);
  await append(store, Array.from({ length: 5_000 }, (_, n) => eventAt(102, n, { type: "device.registered" })), 102);
  const none = await movementsFinding({ config, store });
  assert.equal(none.verdict, "ok");
  assert.match(none.found, /^none in a wrong asset among the newest 5000 events$/);
  await store.close();
});
