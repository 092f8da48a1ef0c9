// needs: neutral
import { Address, nativeToScVal, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  createSolvency,
  lastSolvency,
  type Solvency,
  type SolvencyParts,
} from "../../../lib/escrow/assets/solvency.ts";
import { createHeldReader } from "../../../lib/escrow/assets/held.ts";
import type { Store, WatcherState } from "../../../lib/store/store.ts";
import { CONTRACT } from "../../store/samples.ts";
import { memoryStore } from "../../webhooks/parts.ts";
import { type LogEntry, logOf } from "../memory_log.ts";

const assetOf = (n: number) => Address.contract(new Uint8Array(32).fill(n)).toString();
const [X, Y, JUNK] = [assetOf(1), assetOf(2), assetOf(3)];
const LEDGER = 50;

let store: Store;
before(async () => void (store = await memoryStore()));
after(() => store.close());
let escrows = 0;

const move = (type: string, asset: string | undefined, amount: number, more: Partial<LogEntry> = {}): LogEntry => {
  const who = type === "payment.claimed" ? { merchant: "M" } : { deviceHash: "ab", merchant: "M" };
  return { type, asset, amount: `${amount}`, ...who, ...more };
};
const fund = (asset: string | undefined, amount: number, more?: Partial<LogEntry>) =>
  move("escrow.funded", asset, amount, more);
const defund = (asset: string | undefined, amount: number) => move("escrow.defunded", asset, amount);
const authorize = (asset: string, amount: number) => move("payment.authorized", asset, amount);
const claim = (asset: string | undefined, amount: number) => move("payment.claimed", asset, amount);

const state = (fields: Partial<WatcherState> = {}): Partial<WatcherState> => {
  return { scannedLedger: LEDGER, contracts: { [CONTRACT]: { fromLedger: 1, toLedger: null } }, ...fields };
};

/** The log of these events, to which a test adds more. */
const growing = (events: LogEntry[]): SolvencyParts["log"] =>
  new Proxy(logOf([], state()), { get: (_, name) => Reflect.get(logOf(events, state()), name) });

/** The entry of an asset contract's balance. */
function entryOf(amount: bigint, authorized = true): string {
  const val = nativeToScVal({ amount, authorized, clawback: false }, {
    type: { amount: ["symbol", "i128"], authorized: ["symbol"], clawback: ["symbol"] },
  });
  return xdr.LedgerEntryData.contractData(
    new xdr.ContractDataEntry({
      ext: xdr.ExtensionPoint.v0(),
      contract: Address.fromString(X).toScAddress(),
      key: xdr.ScVal.scvVoid(),
      durability: xdr.ContractDataDurability.persistent,
      val,
    }),
  ).toXdr("base64");
}

/** A gateway on this log. Its contract was created in ledger 1, and the escrow has these balances. */
function gateway(
  log: SolvencyParts["log"],
  balances: Record<string, bigint>,
  { name = `escrow ${escrows++}`, ids = [X, Y], ledger = LEDGER }: { name?: string; ids?: string[]; ledger?: number } =
    {},
) {
  const on = { balances, ledger, reads: 0, nowMs: 0, isDown: false };
  const xdrs = () =>
    ids.map((id) => on.balances[id]).map((amount) => amount === undefined ? undefined : entryOf(amount));
  const row = (text: string, lastModifiedLedgerSeq: number) => ({ key: "", xdr: text, lastModifiedLedgerSeq });
  const named = { ...store.sharedState };
  const parts: SolvencyParts = {
    log,
    sharedState: {
      read: () => named.read(name),
      change: (_, work) => named.change(name, work),
    },
    paymentEscrow: CONTRACT,
    assets: { ids },
    held: createHeldReader({
      paymentEscrow: CONTRACT,
      entries: {
        read() {
          on.reads += 1;
          if (on.isDown) return Promise.reject(new Error("the node is down"));
          const entries = xdrs().map((text) => text === undefined ? undefined : row(text, 1));
          return Promise.resolve({ ledger: on.ledger, entries: [row("", 1), ...entries] });
        },
      },
      calls: { simulate: () => Promise.resolve({ latestLedger: 0, error: "no contract" }) },
    }),
    monotonicMs: () => on.nowMs,
  };
  return { on, name, look: createSolvency(parts), last: () => lastSolvency(parts.sharedState, CONTRACT) };
}

const amounts = (found: Solvency | undefined) => found?.assets.map(({ held, owed, missing }) => [held, owed, missing]);

const begun = [fund(X, 100), fund(Y, 40), authorize(X, 30)];

describe("the escrow's debt", () => {
  const cases: [string, LogEntry[], Record<string, string | null>][] = [
    ["is the sum of cards and pending payments", begun, { [X]: "100", [Y]: "40" }],
    ["falls by claims and withdrawals", [...begun, claim(X, 30), defund(Y, 15)], { [X]: "70", [Y]: "25" }],
    ["includes an expired payment", [...begun, authorize(X, 5), claim(X, 5)], { [X]: "95", [Y]: "40" }],
    ["does not fall by a payout in an asset that the card did not fund", [
      fund(JUNK, 90),
      fund(X, 100, { deviceHash: "cd" }),
      defund(X, 90),
    ], {
      [X]: "100",
      [Y]: "0",
    }],
    ["falls in the authorised asset after a claim in another asset", [
      fund(X, 9),
      fund(Y, 9),
      authorize(X, 9),
      claim(Y, 9),
    ], {
      [X]: "0",
      [Y]: "9",
    }],
    ["falls in the card's asset after a payout in an unknown asset", [fund(X, 9), defund(undefined, 4)], {
      [X]: "5",
      [Y]: "0",
    }],
    ["ignores events of another contract", [...begun, fund(X, 7, { contractId: "C-other" })], {
      [X]: "100",
      [Y]: "40",
    }],
    ["ignores events after the ledger of the balances", [...begun, fund(X, 7, { ledger: LEDGER + 1 })], {
      [X]: "100",
      [Y]: "40",
    }],
  ];
  for (const [title, events, owed] of cases) {
    test(title, async () => {
      const found = await gateway(logOf(events, state()), { [X]: 1_000n, [Y]: 1_000n }).look();
      assert.equal(found?.unknownBecause, null);
      assert.deepEqual(Object.fromEntries(found!.assets.map((one) => [one.asset, one.owed])), owed);
    });
  }

  test("is not compared with the balance of a token that does not answer", async () => {
    assert.deepEqual(amounts(await gateway(logOf(begun, state()), { [X]: 99n }).look()), [
      ["99", "100", "1"],
      [null, "40", null],
    ]);
  });
});

describe("the escrow's debt is unknown", () => {
  const gap = {
    epoch: 0,
    fromLedger: 5,
    toLedger: 9,
    contractIds: [CONTRACT],
    detectedAt: "",
    reason: "pruned" as const,
  };
  const later = { [CONTRACT]: { fromLedger: 2, toLedger: null } };
  const cases: [string, LogEntry[], Partial<WatcherState>, Solvency["unknownBecause"]][] = [
    ["while the history has a gap", begun, { gaps: [gap] }, "gap"],
    ["when the history begins after the contract", begun, { contracts: later }, "begins_later"],
    ["when the log has more withdrawals than fundings", [defund(X, 3)], {}, "begins_later"],
    ["when the log lacks the asset of a payout", [fund(X, 9), claim(undefined, 3)], {}, "asset_unknown"],
  ];
  for (const [title, events, fields, because] of cases) {
    test(title, async () => {
      const found = await gateway(logOf(events, state(fields)), { [X]: 1n, [Y]: 1n }).look();
      assert.equal(found?.unknownBecause, because);
      assert.deepEqual(amounts(found), [["1", null, null], ["1", null, null]]);
    });
  }

  test("but not when retention deletes counted events", async () => {
    const log = logOf([...begun, ...[4, 5, 6].map((ledger) => ({ type: "device.registered", ledger }))], state());
    let forgotten = 0;
    const bounds = () => Promise.resolve({ last: 6, forgotten });
    const read: typeof log.read = async (query) =>
      (await log.read(query)).filter(({ sequence }) => sequence > forgotten);
    const { look, on } = gateway({ ...log, bounds, read }, { [X]: 100n, [Y]: 40n });
    await look();
    forgotten = 5;
    on.nowMs += 600_000;
    assert.deepEqual(amounts(await look()), [["100", "100", "0"], ["40", "40", "0"]]);
    assert.equal(on.reads, 2);
  });

  test("when retention has deleted the beginning, and is known again after a gap is filled", async () => {
    const log = logOf(begun, state());
    const bounds = () => Promise.resolve({ last: 3, forgotten: 1 });
    const cut = gateway({ ...log, bounds, before: () => Promise.resolve(1) }, { [X]: 1n });
    assert.equal((await cut.look())?.unknownBecause, "begins_later");

    let gaps = [gap];
    const filled = logOf([...begun, fund(X, 11, { ledger: 2 })], state());
    const watcherState = async () => ({ ...(await filled.watcherState())!, gaps });
    const one = gateway({ ...filled, watcherState }, { [X]: 111n, [Y]: 40n });
    assert.equal((await one.look())?.unknownBecause, "gap");
    gaps = [];
    assert.deepEqual(amounts(await one.look()), [["111", "111", "0"], ["40", "40", "0"]]);
  });
});

describe("the comparison", () => {
  test("restarts after a network reset", async () => {
    const before = gateway(logOf(begun, state()), { [X]: 90n });
    assert.equal(amounts(await before.look())![0]![2], "10");
    const events = [...begun, fund(X, 8, { epoch: 1, ledger: 4 })];
    const after = gateway(logOf(events, state({ epoch: 1 })), { [X]: 8n }, { name: before.name });
    assert.deepEqual(amounts(await after.look())![0], ["8", "8", "0"]);
  });

  test("reads the node only after a movement and every ten minutes, and after a minute when money is missing", async () => {
    const events = [...begun];
    const { on, look } = gateway(growing(events), { [X]: 100n, [Y]: 40n });
    for (let n = 0; n < 3; n++) await look();
    assert.equal(on.reads, 1);
    events.push(fund(X, 5));
    assert.equal(amounts(await look())![0]![2], "5");
    assert.equal(on.reads, 2);
    on.nowMs += 60_000;
    on.balances[X] = 105n;
    assert.equal(amounts(await look())![0]![2], "0");
    on.nowMs += 590_000;
    await look();
    assert.equal(on.reads, 3);
    on.nowMs += 10_000;
    await look();
    assert.equal(on.reads, 4);
  });

  test("is repeated after 10 s when the node fails after a movement", async () => {
    const events = [fund(X, 100)];
    const { on, look } = gateway(growing(events), { [X]: 99n });
    await look();
    on.isDown = true;
    events.push(fund(X, 5));
    await assert.rejects(look());
    on.isDown = false;
    assert.equal(await look(), undefined, "the gateway rests after a failure");
    on.nowMs += 10_000;
    assert.equal(amounts(await look())![0]![2], "6");
  });

  test("counts each event once also for several concurrent gateways", async () => {
    const many = Array.from(
      { length: 1_200 },
      (_, n) => fund(n % 2 ? X : Y, 1, { ledger: 3 + n % 40, deviceHash: `${n}` }),
    );
    const log = logOf(many, state());
    const one = gateway(log, { [X]: 600n, [Y]: 599n });
    const others = Array.from({ length: 4 }, () => gateway(log, one.on.balances, { name: one.name }));
    await Promise.all([one, ...others].map(({ look }) => look()));
    for (const { look } of others) await look();
    assert.deepEqual(amounts(await one.last()), [["600", "600", "0"], ["599", "600", "1"]]);
  });

  test("waits until the log has the ledger of the balances", async () => {
    const { look, last, on } = gateway(logOf(begun, state()), { [X]: 60n, [Y]: 40n }, { ledger: LEDGER + 1 });
    assert.deepEqual([await look(), await last()], [undefined, undefined]);
    on.ledger = LEDGER;
    assert.deepEqual(amounts(await look()), [["60", "100", "40"], ["40", "40", "0"]]);
  });

  test("does not use balances that are older than the newest counted movement", async () => {
    const log = logOf(begun, state());
    const { look, on } = gateway(log, { [X]: 60n }, { ledger: 2 });
    assert.equal(await look(), undefined);
    on.ledger = LEDGER;
    assert.equal(amounts(await look())![0]![2], "40");
  });
});
