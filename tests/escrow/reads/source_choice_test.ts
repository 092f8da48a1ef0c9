// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { UnexpectedEntry } from "../../../lib/escrow/decode.ts";
import { createSourceChoice } from "../../../lib/escrow/reads/source_choice.ts";

test("a single wrong answer, or one older than its ledger, is not a difference", async () => {
  const answers: [string, () => Promise<{ ledger: number; value: string[] }>, "entries" | "calls"][] = [
    ["once of the ledger before", () => Promise.resolve({ ledger: 5, value: ["before"] }), "entries"],
    ["once nonsense", () => Promise.reject(new UnexpectedEntry("nonsense")), "entries"],
    ["again and again", () => Promise.resolve({ ledger: 5, value: ["before"] }), "calls"],
  ];
  for (const [when, wrong, way] of answers) {
    let asked = 0;
    const choice = createSourceChoice({ now: () => 0 });
    await choice.choose("device", "codes", {
      byEntries: () => asked++ === 0 || way === "calls" ? wrong() : Promise.resolve({ ledger: 5, value: ["now"] }),
      byCalls: () => Promise.resolve({ ledger: 5, value: ["now"] }),
    });
    assert.equal(choice.way("device"), way, when);
  }
});
