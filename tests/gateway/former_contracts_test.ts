// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createAssetList } from "../../lib/escrow/assets/asset_list.ts";
import { createEscrowLog } from "../../lib/escrow/assets/escrow_log.ts";
import { guardAssets } from "../../lib/escrow/operations/asset_guard.ts";
import { watchUnacceptedAssets } from "../../lib/gateway/unaccepted_assets.ts";
import type { Store } from "../../lib/store/store.ts";
import { logOf } from "../escrow/memory_log.ts";

/* A gateway with a new deployment of the contracts and the same store: the same cards, another asset. */

const FORMER = { escrow: "C-former-escrow", agents: "C-former-agents" };
const NOW = { escrow: "C-escrow", agents: "C-agents" };
const CARD = "ab".repeat(32);

type Move = { of: string; type: string; asset?: string; amount?: number; merchant?: string; epoch?: number };

/** A log of these events, one a ledger. */
const storeOf = (moves: Move[]) =>
  logOf(
    moves.map(({ of, amount, merchant, epoch, ...move }) => ({
      ...move,
      ...(epoch === undefined ? {} : { epoch }),
      contractId: of,
      ...(merchant === undefined ? { deviceHash: CARD } : { merchant }),
      ...(amount === undefined ? {} : { amount: `${amount}` }),
    })),
    { scannedLedger: 100 },
  );

async function alarms(moves: Move[]): Promise<string[]> {
  const raised: string[] = [];
  const log = { warn: (_: string, { because }: { because: string }) => raised.push(because) };
  const contractIds = [NOW.agents, NOW.escrow];
  const parts = {
    store: { events: storeOf(moves) as Store["events"] },
    assets: createAssetList(undefined, "Test"),
    log: log as never,
    contractIds,
  };
  await watchUnacceptedAssets(parts).look();
  return raised;
}

const funded = (of: string, asset: string, amount = 40, epoch?: number): Move => {
  return { of, type: "escrow.funded", asset, amount, epoch };
};
const policy = (of: string, asset: string): Move => ({ of, type: "agent.registered", asset });
const paid = (of: string, type: "authorized" | "claimed", asset: string, epoch?: number): Move => {
  return { of, type: `payment.${type}`, asset, amount: 5, merchant: "G", epoch };
};

const NO_ALARMS: [what: string, ...moves: Move[]][] = [
  [
    "a balance in a former deployment's escrow",
    funded(FORMER.escrow, "X"),
    policy(NOW.agents, "Y"),
    funded(NOW.escrow, "Y"),
  ],
  ["the policy of a former deployment", policy(FORMER.agents, "X"), funded(NOW.escrow, "Y")],
  [
    "an unclaimed payment of a former deployment",
    paid(FORMER.escrow, "authorized", "X"),
    paid(NOW.escrow, "authorized", "Y"),
    paid(NOW.escrow, "claimed", "Y"),
  ],
  [
    "a payment from before a network reset, at a claim after the reset,",
    paid(NOW.escrow, "authorized", "X"),
    paid(NOW.escrow, "authorized", "Y", 1),
    paid(NOW.escrow, "claimed", "Y", 1),
  ],
  ["a policy from before a network reset", policy(NOW.agents, "X"), funded(NOW.escrow, "Y", 5, 1)],
];
for (const [what, ...moves] of NO_ALARMS) {
  test(`${what} raises no alarm`, async () => assert.deepEqual(await alarms(moves), []));
}

describe("an event of a former deployment of the contracts", () => {
  test("does not block funding a card at the current deployment, whose first funding event nodes have pruned", async () => {
    const events = storeOf([{ of: FORMER.escrow, type: "escrow.funded", asset: "X", amount: 100 }]);
    const clock = { monotonicMs: () => 0, wait: () => Promise.resolve() };
    const log = createEscrowLog({ events, paymentEscrow: NOW.escrow, catchUp: () => Promise.resolve(), clock });
    const call = { kind: "fundEscrow", deviceHash: CARD, asset: "Y", amount: undefined, param: "source" } as const;
    await guardAssets(log, call, { balance: 40n, changedIn: undefined });
  });

  test("does not suppress an alarm of the current deployment", async () => {
    const moves = [funded(FORMER.escrow, "X"), funded(NOW.escrow, "Y"), funded(NOW.escrow, "Z")];
    assert.deepEqual(await alarms(moves), ["not_what_was_funded"]);
  });
});
