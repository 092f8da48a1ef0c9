// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Difference } from "../../../lib/escrow/books/differences.ts";
import { reconcile } from "../../../lib/escrow/books/reconcile.ts";
import { seededRandom } from "../../faults/seeded_random.ts";
import { CONTRACT } from "../../store/samples.ts";
import { forTier } from "../../tier.ts";
import { ASSETS, BooksWorld, cardOf, type Draw, live } from "./books_world.ts";

const SEEDS = forTier({ test: 60, all: 2_000 });

/** Runs the check in many random worlds, and names the one that fails. */
async function inWorlds(bypass: number, check: (world: BooksWorld, draw: Draw) => Promise<void>): Promise<void> {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { between } = seededRandom(seed);
    const draw = (below: number) => Math.floor(between(0, below));
    const world = new BooksWorld();
    live(world, draw, 20 + draw(60), { bypass });
    await check(world, draw).catch((cause) => {
      throw new Error(`world ${seed}: ${cause.message}`, { cause });
    });
  }
}

/** The amounts that cards took out of an asset beyond those put in, as `card asset amount`. */
function overdrawnBy(world: BooksWorld): Set<string> {
  const sums = new Map<string, bigint>();
  for (const { deviceHash, asset, amount, type } of world.events) {
    if (deviceHash === undefined) continue;
    const key = `${deviceHash} ${asset}`;
    sums.set(key, (sums.get(key) ?? 0n) + (type === "escrow.funded" ? 1n : -1n) * BigInt(amount!));
  }
  return new Set([...sums].filter(([, sum]) => sum < 0n).map(([key, sum]) => `${key} ${sum}`));
}

/** The amounts that the contract owes while nothing bypasses the gateway, by the ends that the gateway knows. */
function owedBy(world: BooksWorld): Map<string, bigint> {
  const owed = new Map(ASSETS.map((asset) => [asset, 0n]));
  const add = (asset: string, amount: bigint) => owed.set(asset, owed.get(asset)! + amount);
  for (const [card, balance] of world.cards) add(ASSETS[Number(card) % 3]!, balance);
  for (const merchant of world.merchants.keys()) {
    for (const { payment, amount } of world.living(merchant)) {
      if (payment.expiresAtLedger >= world.ledger) add(payment.asset!, amount);
    }
  }
  return owed;
}

describe("a reconciliation", () => {
  test("finds no difference in worlds of payments, expiries, extensions and gifts", async () => {
    let open = 0;
    await inWorlds(0, async (world) => {
      assert.deepEqual((await reconcile(world.parts())).differences, []);
      for (const merchant of world.merchants.keys()) open += world.living(merchant).length;
    });
    assert.ok(open > SEEDS, `${open} open payments`);
  });

  test("names each card that took out another asset than was put in, whatever others put in", async () => {
    let found = 0;
    await inWorlds(15, async (world) => {
      const { differences } = await reconcile(world.parts());
      const cards = differences.filter(({ kind }) => kind === "card");
      assert.deepEqual(
        new Set(cards.map(({ deviceHash, asset, log }) => `${deviceHash} ${asset} ${log}`)),
        overdrawnBy(world),
      );
      assert.ok(
        differences.every(({ cause, kind }) => cause === "bypass" && kind !== "merchant"),
        JSON.stringify(differences),
      );
      found += differences.filter(({ kind }) => kind === "escrow").length;
    });
    assert.ok(found > 0, "no asset was short");
  });

  test("names an asset that its issuer clawed back, with what is owed and held", async () => {
    let found = 0;
    await inWorlds(0, async (world, draw) => {
      const asset = ASSETS[draw(3)]!;
      const taken = BigInt(draw(Number(world.tokens.get(asset)!) + 1));
      world.pay(asset, -taken);
      const owed = owedBy(world).get(asset)!;
      const held = world.tokens.get(asset)!;
      const expected: Difference = {
        ...{
          kind: "escrow",
          deviceHash: null,
          merchant: null,
          asset,
          log: `${owed}`,
          chain: `${held}`,
          cause: "clawback",
        },
      };
      const { differences } = await reconcile(world.parts({ clawback: [asset] }));
      assert.deepEqual(differences, held < owed ? [expected] : []);
      found += differences.length;
    });
    assert.ok(found > SEEDS / 4, `${found}`);
  });

  test("finds each movement that the log lacks, as a gap if the log has one", async () => {
    let found = 0;
    await inWorlds(0, async (world, draw) => {
      const isGap = draw(2) === 0;
      const lost = world.events.filter(({ deviceHash }) => deviceHash !== undefined && draw(20) === 0);
      const lostPayments = lost.filter(({ type }) => type === "payment.authorized");
      const kept = world.events.filter((event) => !lost.includes(event));
      const change = new Map<string, bigint>();
      for (const { deviceHash, type, amount } of lost) {
        const by = (type === "escrow.funded" ? 1n : -1n) * BigInt(amount!);
        change.set(deviceHash!, (change.get(deviceHash!) ?? 0n) + by);
      }
      for (const { id } of lostPayments) world.payments.splice(world.payments.findIndex((one) => one.id === id), 1);
      const gap = {
        epoch: 0,
        fromLedger: 1,
        toLedger: 2,
        contractIds: [CONTRACT],
        detectedAt: "",
        reason: "pruned" as const,
      };
      if (isGap) world.state.gaps = [gap];
      const { differences } = await reconcile(world.parts({ events: kept }));
      const cards = differences.filter(({ kind, log, chain }) => kind === "card" && BigInt(chain) - BigInt(log) !== 0n);
      const isKnown = (card: string) => kept.some(({ deviceHash }) => deviceHash === card);
      const expected = [...change].filter(([card, by]) => by !== 0n && isKnown(card));
      const shown = cards.filter(({ cause }) => cause !== "bypass");
      assert.deepEqual(
        new Map(shown.map(({ deviceHash, log, chain }) => [deviceHash, BigInt(chain) - BigInt(log)])),
        new Map(
          expected.toSorted(([one], [other]) =>
            shown.findIndex((row) => row.deviceHash === one) - shown.findIndex((row) => row.deviceHash === other)
          ),
        ),
      );
      assert.ok(shown.every(({ cause }) => cause === (isGap ? "gap" : "unknown")));
      const merchants = differences.filter(({ kind }) => kind === "merchant");
      const isLiving = (id: string) =>
        [...world.merchants.keys()].some((one) => world.living(one).some(({ payment }) => payment.id === id));
      const known = new Set(kept.map(({ merchant }) => merchant));
      const lacking = new Set(
        lostPayments.filter(({ id, merchant }) => isLiving(id) && known.has(merchant)).map(({ merchant }) => merchant),
      );
      assert.deepEqual(new Set(merchants.map(({ merchant }) => merchant)), lacking);
      found += merchants.length;
    });
    assert.ok(found > 0, "no merchant differed");
  });

  test("compares again what may be a late event, once the ledgers are settled", async () => {
    const world = new BooksWorld();
    world.fund(cardOf(1), ASSETS[0]!, 50n);
    world.defund(cardOf(1), ASSETS[0]!, 20n);
    world.close();
    const [funded, late] = world.events;
    const known = [funded!];
    world.state.settledLedger = 1;
    const parts = world.parts({ events: known });
    const waits: number[] = [];
    const found = await reconcile({
      ...parts,
      onWait(count) {
        waits.push(count);
        known.push(late!);
        world.state.settledLedger = world.ledger;
      },
    });
    assert.deepEqual([found.differences, waits], [[], [2]], "the card and the asset");
  });
});
