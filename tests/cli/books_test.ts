// needs: runtime
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lastReconciliation } from "../../lib/escrow/books/last_reconciliation.ts";
import { ASSETS, BooksWorld, cardOf, merchantOf, timeOf } from "../escrow/books/books_world.ts";
import { CONTRACT } from "../store/samples.ts";
import { startBooks } from "./books_stage.ts";

const [X, Y] = ASSETS as [string, string];

/** A card with a payment of each kind, and one that took out another asset than was put in. */
function smallWorld(): BooksWorld {
  const world = new BooksWorld();
  world.fund(cardOf(1), X, 100n);
  world.fund(cardOf(2), Y, 100n);
  world.authorize(cardOf(1), merchantOf(1), X, 30n);
  world.close();
  world.claim(merchantOf(1), X);
  world.authorize(cardOf(1), merchantOf(1), X, 20n);
  world.close();
  world.defund(cardOf(1), Y, 15n);
  world.close();
  return world;
}

describe("gateway reconcile", () => {
  test("reads 10 000 cards and 1 000 merchants with two payments each in at most 70 calls, and exits with 0", async () => {
    const world = new BooksWorld(1_000);
    for (let n = 0; n < 10_000; n++) world.fund(cardOf(n), ASSETS[n % 3]!, 100n);
    for (let n = 0; n < 2_000; n++) world.authorize(cardOf(n), merchantOf(n % 1_000), ASSETS[n % 3]!, 40n);
    world.close();
    const rows = world.entries();
    world.entries = () => new Map(rows);
    const stage = await startBooks(world);
    try {
      const { code, out, err } = await stage.run("reconcile", "--assets", ASSETS.join(","));
      assert.deepEqual([code, out, err], [0, "", "ledgers 1 to 2: the log and the contracts agree\n"]);
      const calls = [...stage.calls.values()].reduce((all, count) => all + count, 0);
      assert.ok(calls <= 70, JSON.stringify([...stage.calls]));
      const { count, differences } = (await lastReconciliation(stage.store.sharedState, CONTRACT))!;
      assert.deepEqual([count, differences], [0, []]);
    } finally {
      await stage.stop();
    }
  });

  test("prints each difference with its cause as table, JSON and CSV, exits with 1, and keeps the result for the gateways", async () => {
    const world = smallWorld();
    const stage = await startBooks(world, { clawback: [X] });
    world.cards.set(cardOf(2), 90n);
    world.pay(X, -20n);
    try {
      const expected = [
        { kind: "escrow", deviceHash: null, merchant: null, asset: X, log: "55", chain: "50", cause: "clawback" },
        { kind: "escrow", deviceHash: null, merchant: null, asset: Y, log: "100", chain: "85", cause: "bypass" },
        { kind: "card", deviceHash: cardOf(1), merchant: null, asset: Y, log: "-15", chain: "0", cause: "bypass" },
        { kind: "card", deviceHash: cardOf(2), merchant: null, asset: Y, log: "100", chain: "90", cause: "unknown" },
      ];
      const inOrder = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
      const json = await stage.run("reconcile", "--json");
      const { ok, fromLedger, toLedger, differences } = JSON.parse(json.out);
      assert.deepEqual([json.code, ok, fromLedger, toLedger], [1, false, 1, 4]);
      assert.deepEqual(differences.sort(inOrder), expected.toSorted(inOrder));
      assert.equal(json.err, "2 differences: waiting up to three minutes for late events\n");
      const csv = await stage.run("reconcile", "--csv");
      assert.deepEqual([csv.code, csv.out.split("\r\n")[0]], [1, "kind,deviceHash,merchant,asset,log,chain,cause"]);
      assert.ok(csv.out.includes(`\r\ncard,${cardOf(1)},,${Y},-15,0,bypass\r\n`), csv.out);
      const table = await stage.run("reconcile");
      assert.ok(table.out.includes(`card\t${cardOf(1)}\t${Y}\t-15\t0\tbypass\n`), table.out);
      assert.match(table.err, /ledgers 1 to 4: 4 differences\n$/);
      const last = (await lastReconciliation(stage.store.sharedState, CONTRACT))!;
      assert.deepEqual(last.counts, { bypass: 2, clawback: 1, gap: 0, unknown: 1 });
      assert.deepEqual(last.differences.sort(inOrder), expected.toSorted(inOrder));
    } finally {
      await stage.stop();
    }
  });

  test("fails with the reason when the network is another one, and refuses two forms", async () => {
    const stage = await startBooks(smallWorld());
    try {
      const other = await stage.run("reconcile", "--network-passphrase", "another network");
      assert.deepEqual([other.code, other.out], [1, ""]);
      assert.match(other.err, /another network/);
      const both = await stage.run("reconcile", "--json", "--csv");
      assert.equal(both.code, 2);
      assert.match(both.err, /^gateway reconcile: --json and --csv exclude each other\n/);
    } finally {
      await stage.stop();
    }
  });
});

describe("gateway report", () => {
  test("prints the books of each asset as table, JSON and CSV", async () => {
    const stage = await startBooks(smallWorld());
    const range = ["--from", String(timeOf(1)), "--to", "2026-12-01"];
    try {
      const none = { opening: "0", swept: "0", expired: "0", bypass: "0" };
      const json = await stage.run("report", ...range, "--json");
      assert.deepEqual(JSON.parse(json.out), {
        ...{ from: "2026-11-01T00:00:05Z", to: "2026-12-01T00:00:00Z", complete: true },
        assets: [
          { ...none, asset: X, funded: "100", defunded: "0", claimed: "30", closing: "70" },
          { ...none, asset: Y, funded: "100", defunded: "15", claimed: "0", closing: "85" },
        ],
        ...{ unknownCount: 0, unknown: [] },
      });
      const csv = await stage.run("report", ...range, "--csv");
      assert.deepEqual(csv.out.split("\r\n").slice(0, 2), [
        "asset,opening,funded,defunded,swept,claimed,expired,closing,bypass",
        `${X},0,100,0,0,30,0,70,0`,
      ]);
      const table = await stage.run("report", "--from", String(timeOf(2)), "--to", "2026-12-01");
      assert.equal(table.out.split("\n")[0], `${X}\t100\t0\t0\t0\t30\t0\t70\t0`);
      assert.deepEqual([json, csv, table].map(({ code, err }) => [code, err]), [[0, ""], [0, ""], [0, ""]]);
    } finally {
      await stage.stop();
    }
  });

  test("refuses a range that the log does not have, and names the flag of a wrong time", async () => {
    const stage = await startBooks(smallWorld());
    try {
      const early = await stage.run("report", "--from", "2026-01-01", "--to", "2026-12-01");
      assert.equal(early.code, 1);
      assert.match(early.err, /begins later than --from: it holds movements from 2026-11-01T00:00:05Z on\n/);
      const wrong = await stage.run("report", "--from", "yesterday", "--to", "2026-12-01");
      assert.equal(wrong.code, 2);
      assert.match(wrong.err, /^gateway report: --from must be a time in ISO 8601.*; got "yesterday"\n/);
      const order = await stage.run("report", "--from", "2026-12-01", "--to", "2026-11-01");
      assert.match(order.err, /--from must be before --to/);
    } finally {
      await stage.stop();
    }
  });
});
