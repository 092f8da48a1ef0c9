// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { UnexpectedEntry } from "../../../lib/escrow/decode.ts";
import { createSourceChoice } from "../../../lib/escrow/reads/source_choice.ts";
import { StoreError } from "../../../lib/store/store.ts";

test("a difference reaches the other gateways, also after a failure of the store", async () => {
  let nowMs = 0;
  let kept: "entries" | "calls" | undefined;
  let failures = 0;
  const verdicts = {
    get: () => Promise.resolve(kept),
    put(_kind: string, _codes: string, way: "entries" | "calls") {
      if (failures++ === 0) return Promise.reject(new StoreError("unavailable", "the store is away"));
      if (kept !== "calls") kept = way;
      return Promise.resolve();
    },
  };
  const read = (called: string) => ({
    byEntries: () => Promise.resolve({ ledger: 5, value: "stored" }),
    byCalls: () => Promise.resolve({ ledger: 5, value: called }),
    isEmpty: () => false,
  });
  const one = createSourceChoice({ now: () => nowMs, verdicts });
  const other = createSourceChoice({ now: () => nowMs, verdicts });
  await one.choose("policy", "codes", read("called"));
  assert.equal(one.way("policy"), "calls");
  // The first that the other one compares are alike.
  await other.choose("policy", "codes", read("stored"));
  for (let minutes = 0; minutes < 10; minutes++) {
    nowMs += 61_000;
    for (const choice of [one, other]) {
      await choice.choose("policy", "codes", read("called"));
      await yieldToOthers();
    }
  }
  assert.equal(kept, "calls");
  assert.equal(other.way("policy"), "calls");
});

test("one wrong answer, or one older than the ledger it names, makes no difference", async () => {
  const answers: [string, () => Promise<{ ledger: number; value: string }>, "entries" | "calls"][] = [
    ["once of the ledger before", () => Promise.resolve({ ledger: 5, value: "before" }), "entries"],
    ["once nonsense", () => Promise.reject(new UnexpectedEntry("nonsense")), "entries"],
    ["again and again", () => Promise.resolve({ ledger: 5, value: "before" }), "calls"],
  ];
  for (const [when, wrong, way] of answers) {
    let asked = 0;
    const choice = createSourceChoice({ now: () => 0 });
    await choice.choose("device", "codes", {
      byEntries: () => asked++ === 0 || way === "calls" ? wrong() : Promise.resolve({ ledger: 5, value: "now" }),
      byCalls: () => Promise.resolve({ ledger: 5, value: "now" }),
      isEmpty: () => false,
    });
    assert.equal(choice.way("device"), way, when);
  }
});
