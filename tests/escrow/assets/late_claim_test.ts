import assert from "node:assert/strict";
import { test } from "node:test";
import { createEscrowLog, type EscrowEvent, type EventLog } from "../../../lib/escrow/assets/escrow_log.ts";
import { createForeignMovements, type ForeignMovement } from "../../../lib/escrow/assets/foreign_movements.ts";
import { claimGuard } from "../../../lib/escrow/operations/claim_guard.ts";

const CARD = "ab".repeat(32);
const MERCHANT = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";
const ESCROW = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";

type Found = [type: string, asset: string, ledger: number];

/** In the order in which the log learnt of them: what a node left out at first comes late. */
function logged(found: Found[]) {
  return found.map(([type, asset, ledger], at) => ({
    sequence: at + 1,
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

test("a claim that came late into the log does not hide what was authorised after it", async () => {
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

async function alarmsOf(found: Found[]): Promise<ForeignMovement[]> {
  const alarms: ForeignMovement[] = [];
  const events = logged(found);
  await createForeignMovements({
    log: { read: reader(events), bounds: () => Promise.resolve({ last: events.length }) },
    contractIds: [ESCROW],
    assets: { has: () => true },
    onForeign: (one) => alarms.push(one),
  }).look();
  return alarms.filter(({ because }) => because === "not_what_was_authorized");
}

test("nor is it an alarm for that", async () => {
  assert.deepEqual(await alarmsOf(LATE_CLAIM), []);
});

test("a claim of what was authorised after it in another asset is one", async () => {
  assert.equal((await alarmsOf([...LATE_CLAIM, ["payment.claimed", "X", 40]])).at(-1)?.event.ledger, 40);
});
