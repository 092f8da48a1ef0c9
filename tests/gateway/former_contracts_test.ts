// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createAssetList } from "../../lib/escrow/assets/asset_list.ts";
import { createEscrowLog } from "../../lib/escrow/assets/escrow_log.ts";
import { guardAssets } from "../../lib/escrow/operations/asset_guard.ts";
import { createExpiringPayments } from "../../lib/escrow/reads/expiring_payments.ts";
import { watchUnacceptedAssets } from "../../lib/gateway/unaccepted_assets.ts";
import type { Store } from "../../lib/store/store.ts";
import { logOf } from "../escrow/memory_log.ts";

/* A gateway that was pointed at a new deployment of the contracts, with the same store: the same cards, another asset. */

const FORMER = { escrow: "C-former-escrow", agents: "C-former-agents" };
const NOW = { escrow: "C-escrow", agents: "C-agents" };
const CARD = "ab".repeat(32);

type Move = { of: string; type: string; asset?: string; amount?: number; merchant?: string; epoch?: number };

/** A log of these events, one a ledger. */
const storeOf = (moves: Move[]) =>
  logOf(
    moves.map(({ of, amount, merchant, ...move }) => ({
      ...move,
      contractId: of,
      ...(merchant === undefined ? { deviceHash: CARD } : { merchant }),
      ...(amount === undefined ? {} : { amount: `${amount}` }),
    })),
    { scannedLedger: 100 },
  );

async function alarms(moves: Move[]): Promise<string[]> {
  const told: string[] = [];
  const log = { warn: (_: string, { because }: { because: string }) => told.push(because) };
  const contractIds = [NOW.agents, NOW.escrow];
  const parts = {
    store: { events: storeOf(moves) as Store["events"] },
    assets: createAssetList(undefined, "Test"),
    log: log as never,
    contractIds,
  };
  await watchUnacceptedAssets(parts).look();
  return told;
}

describe("what happened at a former deployment of the contracts", () => {
  test("is no alarm at this one: what its escrow held", async () => {
    assert.deepEqual(
      await alarms([
        { of: FORMER.escrow, type: "escrow.funded", asset: "X", amount: 100 },
        { of: NOW.agents, type: "agent.registered", asset: "Y" },
        { of: NOW.escrow, type: "escrow.funded", asset: "Y", amount: 40 },
      ]),
      [],
    );
  });

  test("is no alarm at this one: the policy of then", async () => {
    assert.deepEqual(
      await alarms([
        { of: FORMER.agents, type: "agent.registered", asset: "X" },
        { of: NOW.escrow, type: "escrow.funded", asset: "Y", amount: 40 },
      ]),
      [],
    );
  });

  test("is no alarm at this one: what was authorised and never claimed", async () => {
    const merchant = "G";
    assert.deepEqual(
      await alarms([
        { of: FORMER.escrow, type: "payment.authorized", asset: "X", amount: 5, merchant },
        { of: NOW.escrow, type: "payment.authorized", asset: "Y", amount: 5, merchant },
        { of: NOW.escrow, type: "payment.claimed", asset: "Y", amount: 5, merchant },
      ]),
      [],
    );
  });

  test("does not keep a card from being funded at this one, whose own funding no node holds any more", async () => {
    const events = storeOf([{ of: FORMER.escrow, type: "escrow.funded", asset: "X", amount: 100 }]);
    const clock = { monotonicMs: () => 0, wait: () => Promise.resolve() };
    const log = createEscrowLog({ events, paymentEscrow: NOW.escrow, catchUp: () => Promise.resolve(), clock });
    const call = { kind: "fundEscrow", deviceHash: CARD, asset: "Y", amount: undefined, param: "source" } as const;
    await guardAssets(log, call, { balance: 40n, changedIn: undefined });
  });

  for (const claims of [1, 250]) {
    test(`has collected no payment of this one, whose expiry is told: ${claims} claims of its merchant`, async () => {
      const merchant = "G";
      const claimed = Array.from({ length: claims }, () => ({ of: FORMER.escrow, type: "payment.claimed", merchant }));
      const moves = [{ of: NOW.escrow, type: "payment.authorized", merchant }, ...claimed];
      const payment = { deviceHash: CARD, amount: "5", authorizedAt: 5, expiresAt: 5_000 };
      const expiring = createExpiringPayments({
        events: storeOf(moves),
        paymentEscrow: NOW.escrow,
        reads: { pending: () => Promise.resolve({ pending: "5", payments: [payment] }) },
        shortestLife: () => Promise.resolve(1_000),
        latestLedger: () => 900,
        nowMs: () => 4_500_000,
        wait: (_, signal) => new Promise((resolve) => signal?.addEventListener("abort", () => resolve())),
      });
      assert.deepEqual(await expiring.now(), { payments: 1, merchants: 1, firstAt: 5_000, complete: true });
    });
  }

  test("an alarm of this one is one all the same", async () => {
    assert.deepEqual(
      await alarms([
        { of: FORMER.escrow, type: "escrow.funded", asset: "X", amount: 100 },
        { of: NOW.escrow, type: "escrow.funded", asset: "Y", amount: 40 },
        { of: NOW.escrow, type: "escrow.funded", asset: "Z", amount: 40 },
      ]),
      ["not_what_was_funded"],
    );
  });
});

test("what was authorised before a reset of the network is no alarm at a claim after it", async () => {
  const merchant = "G";
  assert.deepEqual(
    await alarms([
      { of: NOW.escrow, type: "payment.authorized", asset: "X", amount: 5, merchant },
      { of: NOW.escrow, type: "payment.authorized", asset: "Y", amount: 5, merchant, epoch: 1 },
      { of: NOW.escrow, type: "payment.claimed", asset: "Y", amount: 5, merchant, epoch: 1 },
    ]),
    [],
  );
});

test("a policy of before a reset of the network is none after it", async () => {
  assert.deepEqual(
    await alarms([
      { of: NOW.agents, type: "agent.registered", asset: "X" },
      { of: NOW.escrow, type: "escrow.funded", asset: "Y", amount: 5, epoch: 1 },
    ]),
    [],
  );
});
