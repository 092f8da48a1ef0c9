// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createEscrowLog, type EscrowEvent, type EventLog } from "../../../lib/escrow/assets/escrow_log.ts";
import { type BypassMovement, createBypassMovements } from "../../../lib/escrow/assets/bypass_movements.ts";
import { claimGuard } from "../../../lib/escrow/operations/claim_guard.ts";

const CARD = "ab".repeat(32);
const MERCHANT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";
const ESCROW = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

type Found = [type: string, asset: string, ledger: number, sequence?: number];

/** In the order of the log, where events that a node left out at first come late. */
function logged(found: Found[]) {
  return found.map(([type, asset, ledger, sequence], at) => ({
    sequence: sequence ?? at + 1,
    id: String(ledger).padStart(30, "0"),
    ledger,
    knownAt: 0,
    contractId: ESCROW,
    type,
    asset,
    amount: "5",
    deviceHash: CARD,
    merchant: MERCHANT,
    ledgerClosedAt: new Date(ledger * 5_000).toISOString(),
  }));
}

const LATE_CLAIM: Found[] = [
  ["payment.authorized", "X", 10],
  // Of ledger 30, after the claim of ledger 20 that a node left out.
  ["payment.authorized", "Y", 30],
  ["payment.claimed", "X", 20],
];

function reader(events: ReturnType<typeof logged>) {
  return ({ filter, after = 0, upTo = Infinity, order, limit }: {
    filter: { types: string[] };
    after?: number;
    upTo?: number;
    order: "asc" | "desc";
    limit: number;
  }) => {
    const all = events.filter(({ type, sequence }) =>
      filter.types.includes(type) && sequence > after && sequence <= upTo
    );
    return Promise.resolve((order === "desc" ? all.reverse() : all).slice(0, limit));
  };
}

test("a late claim event does not hide later authorisations", async () => {
  const read = reader(logged(LATE_CLAIM)) as (query: Parameters<EventLog["read"]>[0]) => Promise<EscrowEvent[]>;
  const log = createEscrowLog({
    log: {
      read,
      reach: () => Promise.resolve({ scannedLedger: 40, completeFromHeight: 0 }),
      catchUp: () => Promise.resolve(),
    },
    clock: { monotonicMs: () => 0, wait: () => Promise.resolve() },
  });
  const pending = () => ({
    pending: "5",
    payments: [{ deviceHash: CARD, amount: "5", authorizedAt: 150, expiresAt: null }],
  });
  const claim = (asset: string) => {
    const parts = { log, reads: { pending }, paymentEscrow: ESCROW };
    const entry = { key: "", xdr: "", lastModifiedLedgerSeq: 30 };
    return claimGuard({ merchant: MERCHANT, asset, param: "source" }, parts).check([entry]);
  };
  await claim("Y");
  await assert.rejects(claim("X"), /operation.asset must be Y, which the merchant's payments were authorised in/);
});

async function alarmsOf(found: Found[]): Promise<BypassMovement[]> {
  const alarms: BypassMovement[] = [];
  const events = logged(found);
  await createBypassMovements({
    log: { read: reader(events), bounds: () => Promise.resolve({ last: events.at(-1)!.sequence }) },
    contractIds: [ESCROW],
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
      // Of before the policy: a node had left it out.
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
