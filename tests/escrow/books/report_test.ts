// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AssetReport, report } from "../../../lib/escrow/books/report.ts";
import { GatewayError } from "../../../lib/errors.ts";
import { seededRandom } from "../../faults/seeded_random.ts";
import { CONTRACT } from "../../store/samples.ts";
import { forTier } from "../../tier.ts";
import { ASSETS, BooksWorld, cardOf, live, merchantOf, timeOf } from "./books_world.ts";

const SEEDS = forTier({ test: 60, all: 2_000 });
const [X, Y] = ASSETS as [string, string];

const reportOf = (world: BooksWorld, from: number, to: number) =>
  report({ store: world.store(), paymentEscrow: CONTRACT }, { from, to });

const columnOf = (books: AssetReport[], column: Exclude<keyof AssetReport, "asset">) =>
  new Map(books.filter((one) => one[column] !== 0n).map((one) => [one.asset, one[column]]));

describe("a report", () => {
  test("adds up to what cards and open payments have, and each range opens as the one before closes", async () => {
    let bypassed = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { between } = seededRandom(seed);
      const draw = (below: number) => Math.floor(between(0, below));
      const world = new BooksWorld();
      world.fund(cardOf(0), X, 1n);
      world.close();
      const ledgers = 20 + draw(60);
      live(world, draw, ledgers, { bypass: seed % 2 === 0 ? 20 : 0 });
      world.expire();
      const [begin, middle, end] = [timeOf(1), timeOf(2 + draw(ledgers)), timeOf(world.ledger) + 1];
      const [first, second, whole] = [
        await reportOf(world, begin, middle),
        await reportOf(world, middle, end),
        await reportOf(world, begin, end),
      ];
      for (
        const { opening, funded, defunded, swept, claimed, expired, closing } of [first, second, whole].flatMap((
          { assets },
        ) => assets)
      ) {
        assert.equal(opening + funded - defunded - swept - claimed - expired, closing, `world ${seed}`);
      }
      assert.deepEqual(columnOf(second.assets, "opening"), columnOf(first.assets, "closing"));
      assert.deepEqual(columnOf(whole.assets, "opening"), new Map());
      const sum = (name: "claimed" | "expired" | "swept") => whole.assets.reduce((all, one) => all + one[name], 0n);
      const amounts = (of: { amount?: string }[]) => of.reduce((all, { amount }) => all + BigInt(amount!), 0n);
      assert.equal(sum("claimed"), amounts(world.events.filter(({ type }) => type === "payment.claimed")));
      assert.equal(sum("swept"), amounts(world.events.filter(({ type }) => type === "escrow.swept")));
      assert.equal(sum("expired"), amounts(world.payments.filter(({ state }) => state === "expired")));
      const open = amounts(world.payments.filter(({ state }) => state === "pending"));
      const balances = [...world.cards.values()].reduce((all, balance) => all + balance, 0n);
      assert.equal(whole.assets.reduce((all, { closing }) => all + closing, 0n), balances + open, `world ${seed}`);
      bypassed += Number(whole.assets.some(({ bypass }) => bypass > 0n));
    }
    assert.ok(bypassed > 0);
  });

  test("counts a claim in the asset that was authorised, and what was paid in another one apart", async () => {
    const world = new BooksWorld();
    world.fund(cardOf(1), X, 100n);
    world.fund(cardOf(2), Y, 100n);
    world.authorize(cardOf(1), merchantOf(1), X, 30n);
    world.close();
    world.claim(merchantOf(1), Y);
    world.close();
    const { assets, isComplete } = await reportOf(world, timeOf(1), timeOf(9));
    const none = { opening: 0n, defunded: 0n, swept: 0n, expired: 0n };
    const [ofX, ofY] = [X, Y].map((asset) => assets.find((one) => one.asset === asset));
    assert.deepEqual(ofX, { ...none, asset: X, funded: 100n, claimed: 30n, closing: 70n, bypass: 0n });
    assert.deepEqual(ofY, { ...none, asset: Y, funded: 100n, claimed: 0n, closing: 100n, bypass: 30n });
    assert.equal(isComplete, true);
  });

  test("lists a payment of unknown state, which stays in closing, and calls sums with a gap incomplete", async () => {
    const world = new BooksWorld();
    world.fund(cardOf(1), X, 100n);
    world.authorize(cardOf(1), merchantOf(1), X, 30n);
    world.payments[0]!.state = "unknown";
    world.state.gaps = [{
      epoch: 0,
      fromLedger: 2,
      toLedger: 3,
      contractIds: [CONTRACT],
      detectedAt: "",
      reason: "pruned",
    }];
    const { assets, unknown, unknownCount, isComplete } = await reportOf(world, timeOf(1), timeOf(9));
    assert.deepEqual([assets[0]!.closing, unknown, unknownCount, isComplete], [100n, world.payments, 1, false]);
  });

  test("refuses a range before the first movement, and one over a reset, and names what can be had", async () => {
    const world = new BooksWorld();
    world.ledger = 3;
    world.fund(cardOf(1), X, 100n);
    const refusal = (from: number, to: number) =>
      reportOf(world, from, to).then(() => assert.fail("not refused"), (error) => {
        assert.ok(error instanceof GatewayError);
        return error.message;
      });
    assert.equal(
      await refusal(timeOf(2), timeOf(9)),
      "the log begins later than --from: it holds movements from 2026-11-01T00:00:15Z on",
    );
    world.events.push({ ...world.events[0]!, id: `1-${world.events[0]!.id}`, ledgerClosedAt: "2026-12-01T00:00:00Z" });
    world.state.epoch = 1;
    assert.equal(
      await refusal(timeOf(3), 1_800_000_000),
      "the network was reset within the range: ask for one of from 2026-11-01T00:00:15Z to 2026-12-01T00:00:00Z, " +
        "from 2026-12-01T00:00:00Z on",
    );
  });
});
