// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createEscrowLog, type EventLog } from "../../../lib/escrow/assets/escrow_log.ts";
import { type BypassMovement, createBypassMovements } from "../../../lib/escrow/assets/bypass_movements.ts";
import { claimGuard } from "../../../lib/escrow/operations/claim_guard.ts";
import { CONTRACT, sampleState } from "../../store/samples.ts";
import { logOf } from "../memory_log.ts";

const CARD = "ab".repeat(32);
const MERCHANT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";

type Found = [type: string, asset: string, ledger: number, sequence?: number];

/** In the order of the log, where events that a node left out at first come late. */
const logged = (found: Found[]) =>
  logOf(found.map(([type, asset, ledger, sequence], at) => ({
    sequence: sequence ?? at + 1,
    ledger,
    type,
    asset,
    amount: "5",
    deviceHash: CARD,
    merchant: MERCHANT,
    ledgerClosedAt: new Date(ledger * 5_000).toISOString(),
  })));

const LATE_CLAIM: Found[] = [
  ["payment.authorized", "X", 10],
  // Of ledger 30, after the claim of ledger 20 that a node left out.
  ["payment.authorized", "Y", 30],
  ["payment.claimed", "X", 20],
];

const escrowOf = (events: EventLog) =>
  createEscrowLog({
    events,
    paymentEscrow: CONTRACT,
    catchUp: () => Promise.resolve(),
    clock: { monotonicMs: () => 0, wait: () => Promise.resolve() },
  });

test("a late claim event does not hide later authorisations", async () => {
  const events = logged(LATE_CLAIM);
  const log = escrowOf({ ...events, watcherState: () => Promise.resolve(sampleState(40)) });
  const pending = () => ({
    pending: "5",
    payments: [{ deviceHash: CARD, amount: "5", authorizedAt: 150, expiresAt: null }],
  });
  const claim = (asset: string) => {
    const parts = { log, reads: { pending }, paymentEscrow: CONTRACT };
    const entry = { key: "", xdr: "", lastModifiedLedgerSeq: 30 };
    return claimGuard({ merchant: MERCHANT, asset, param: "source" }, parts).check([entry]);
  };
  await claim("Y");
  await assert.rejects(claim("X"), /operation.asset must be Y, which the merchant's payments were authorised in/);
});

async function alarmsOf(found: Found[]): Promise<BypassMovement[]> {
  const alarms: BypassMovement[] = [];
  await createBypassMovements({
    log: logged(found),
    contractIds: [CONTRACT],
    assets: { has: () => true },
    onBypass: (one) => alarms.push(one),
  }).look();
  return alarms;
}

const ofClaims = (alarms: BypassMovement[]) =>
  alarms.filter(({ because }) => because === "not_what_was_authorized").map(({ event }) => event.ledger);

test("a late claim event raises no alarm for later authorisations", async () => {
  assert.deepEqual(ofClaims(await alarmsOf(LATE_CLAIM)), []);
});

test("a claim in another asset than the earlier authorisation raises an alarm", async () => {
  assert.equal(ofClaims(await alarmsOf([...LATE_CLAIM, ["payment.claimed", "X", 40]])).at(-1), 40);
});

/** The ledgers of the movements that the first check after a start finds; it begins 5,000 events back. */
const foreignAt = async (found: Found[]) => (await alarmsOf(found)).map(({ event }) => event.ledger);

test("a late funding event does not hide a later funding in another asset than the policy's", async () => {
  const policy: Found = ["agent.registered", "X", 100, 1];
  assert.deepEqual(await foreignAt([policy, ["escrow.funded", "Y", 200, 6_001]]), [200]);
  assert.deepEqual(
    await foreignAt([
      policy,
      // An event from before the policy, which a node had left out.
      ["escrow.funded", "Y", 50, 6_000],
      ["escrow.swept", "Y", 150, 6_001],
      ["escrow.funded", "Y", 200, 6_002],
    ]),
    [200],
  );
});

test("a late sweep event does not hide later fundings", async () => {
  const found: Found[] = [
    ["escrow.funded", "X", 100, 1],
    ["escrow.swept", "X", 50, 6_000],
    ["escrow.funded", "Y", 200, 6_001],
  ];
  assert.deepEqual(await foreignAt(found), [200]);
});

test("after the tenth reset a claim of the former epoch hides no later authorisation", async () => {
  const found: [epoch: number, type: string, asset: string][] = [
    [9, "payment.authorized", "X"],
    [9, "payment.claimed", "X"],
    [10, "payment.authorized", "Y"],
  ];
  const log = escrowOf(logOf(found.map(([epoch, type, asset]) => ({ epoch, type, asset, merchant: MERCHANT }))));
  assert.deepEqual((await log.unclaimed(MERCHANT)).map(({ asset }) => asset), ["Y"]);
});

test("a merchant's pending payments are those in one asset since its claim, in this epoch and after the last gap", async () => {
  const found: [epoch: number, ledger: number, type: string, asset: string | undefined, amount: number][] = [
    [0, 900, "payment.authorized", "X", 1],
    [1, 10, "payment.authorized", "X", 2],
    [1, 30, "payment.authorized", "X", 4],
    [1, 40, "payment.authorized", "Y", 8],
    [1, 41, "payment.authorized", undefined, 16],
    // The claim is late in the log, and collects the payment of ledger 30.
    [1, 35, "payment.claimed", "X", 4],
    [1, 42, "payment.authorized", "X", 32],
  ];
  const pending = (upTo: number, gapTo: number) => {
    const entries = found.slice(0, upTo).map(([epoch, ledger, type, asset, amount]) => ({
      ...{ epoch, ledger, type, asset, amount: `${amount}`, merchant: MERCHANT },
    }));
    const gap = {
      epoch: 1,
      fromLedger: 1,
      toLedger: gapTo,
      contractIds: [CONTRACT],
      detectedAt: "",
      reason: "pruned" as const,
    };
    return escrowOf(logOf(entries, { epoch: 1, gaps: gapTo === 0 ? [] : [gap] })).pending(MERCHANT, "X");
  };
  assert.equal(await pending(5, 0), 2n + 4n + 16n);
  assert.equal(await pending(5, 20), 4n + 16n, "a claim may be in the gap");
  assert.equal(await pending(7, 20), 16n + 32n);
});
