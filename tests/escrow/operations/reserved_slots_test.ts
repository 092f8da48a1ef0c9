// needs: neutral
import { Address, SorobanDataBuilder, StrKey, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createReservedSlots } from "../../../lib/escrow/operations/reserved_slots.ts";
import { pendingIndexKey, pendingPaymentKey } from "../../../lib/escrow/reads/storage_keys.ts";
import type { RawSimulation } from "../../../lib/stellar/rpc/schemas.ts";
import { TERMS } from "../../stellar/transactions/footprint_terms.ts";
import { memorySharedState } from "../../stellar/transactions/memory_submission_log.ts";
import { openStore } from "../../../lib/store/open.ts";
import { createTestClock } from "../../test_clock.ts";
import { OutsideFootprint } from "../../../lib/escrow/refusals/refusal.ts";

const ESCROW = StrKey.encodeContract(new Uint8Array(32).fill(3));
const ASSET = StrKey.encodeContract(new Uint8Array(32).fill(4));
const [MERCHANT, PAYER, OTHER] = [1, 2, 5].map((fill) => StrKey.encodeEd25519PublicKey(new Uint8Array(32).fill(fill)));
const paymentKey = (index: number) => pendingPaymentKey(ESCROW, MERCHANT!, index);

type SharedState = Parameters<typeof createReservedSlots>[0]["sharedState"];

function stage(sharedState?: SharedState) {
  const problems: string[] = [];
  let nowMs = 1_800_000_000_000;
  const slots = createReservedSlots({
    contracts: { deviceRegistry: ASSET, agentRegistry: ASSET, paymentEscrow: ESCROW },
    terms: { read: () => Promise.resolve(TERMS) },
    sharedState: sharedState ?? memorySharedState(() => nowMs),
    onProblem: (one) => problems.push(one),
  });
  return { ...slots, problems, passMinutes: (minutes: number) => void (nowMs += minutes * 60_000) };
}

const authorize = {
  kind: "authorize" as const,
  deviceHash: "ab".repeat(32),
  merchant: MERCHANT!,
  asset: ASSET,
  amount: "1",
};

/** An entry of the escrow as a simulation says it would leave it. */
function left(key: string, val: xdr.ScVal) {
  const data = xdr.LedgerEntryData.contractData(
    new xdr.ContractDataEntry({
      ext: xdr.ExtensionPoint.v0(),
      contract: Address.fromString(ESCROW).toScAddress(),
      key: xdr.ScVal.scvVoid(),
      durability: xdr.ContractDataDurability.temporary,
      val,
    }),
  );
  const entry = new xdr.LedgerEntry({ lastModifiedLedgerSeq: 1, data, ext: xdr.LedgerEntryExt.v0() });
  return { type: "updated", key, before: null, after: entry.toXdr("base64") };
}

function simulation(footprint: string[], stateChanges?: unknown[]): RawSimulation {
  const keys = footprint.map((key) => xdr.LedgerKey.fromXdr(key, "base64"));
  return {
    latestLedger: 1,
    transactionData: new SorobanDataBuilder().setReadWrite(keys).build().toXdr("base64"),
    stateChanges,
  };
}

function written(transactionData: string): string[] {
  const { footprint } = xdr.SorobanTransactionData.fromXdr(transactionData, "base64").resources;
  return footprint.readWrite.map((key) => key.toXdr("base64"));
}

describe("reserved slots", () => {
  const indexKey = pendingIndexKey(ESCROW, MERCHANT!);
  for (const first of [0, 1]) {
    test(`are correct in a contract that counts its payments from ${first}`, async () => {
      const { enter } = stage();
      enter(OTHER!, authorize);
      // The seventh payment since the last claim.
      const own = first + 6;
      const place = enter(PAYER!, authorize)!;
      const changes = [left(indexKey, xdr.ScVal.scvU32(7)), left(paymentKey(own), xdr.ScVal.scvBool(true))];
      const widened = await place.widen(simulation([indexKey, paymentKey(own)], changes));
      const reserved = [own + 1, first, first + 1].map(paymentKey);
      assert.deepEqual(written(widened), [indexKey, paymentKey(own), ...reserved]);
    });
  }

  test("are for the envelopes of all gateways, and are left out when the store fails", async () => {
    const shared = memorySharedState(() => 0);
    const away: SharedState = { change: () => Promise.reject(new Error("away")) };
    for (const [state, reserved] of [[shared, [2]], [away, []]] as [SharedState, number[]][]) {
      const { problems, enter } = stage(state);
      stage(state).enter(OTHER!, authorize);
      const changes = [left(indexKey, xdr.ScVal.scvU32(1)), left(paymentKey(1), xdr.ScVal.scvBool(true))];
      const widened = await enter(PAYER!, authorize)!.widen(simulation([indexKey, paymentKey(1)], changes));
      assert.deepEqual(written(widened), [indexKey, ...[1, ...reserved].map(paymentKey)]);
      assert.deepEqual(problems, []);
    }
  });

  test("are not added without competing envelopes, nor for another storage layout", async () => {
    const { enter, problems } = stage();
    assert.equal(enter(PAYER!, { kind: "revokeAgent", deviceHash: authorize.deviceHash }), undefined);
    enter(OTHER!, authorize);
    const unlike = simulation([indexKey, pendingPaymentKey(ESCROW, OTHER!, 3)]);
    assert.equal(await enter(PAYER!, authorize)!.widen(unlike), unlike.transactionData);
    assert.deepEqual(problems, []);
  });

  test("are left out with a warning when the node returns no state changes", async () => {
    const { enter, problems } = stage();
    enter(OTHER!, authorize);
    const silent = simulation([indexKey, paymentKey(1)]);
    assert.equal(await enter(PAYER!, authorize)!.widen(silent), silent.transactionData);
    assert.deepEqual(problems, [
      "authorize is prepared without reserved slots: the simulation does not show what it changes",
    ]);
  });

  test("ignore malformed calls", () => {
    const { ended } = stage();
    for (const args of [[], [xdr.ScVal.scvVoid(), xdr.ScVal.scvVoid(), xdr.ScVal.scvU32(1)]]) {
      for (const name of ["authorize", "claim"]) ended({ contract: ESCROW, function: name, args }, undefined);
    }
  });
});

describe("the competing envelopes of a merchant", () => {
  const indexKey = pendingIndexKey(ESCROW, MERCHANT!);
  const payer = (n: number) => StrKey.encodeEd25519PublicKey(new Uint8Array(32).fill(100 + n));
  const claim = { kind: "claim" as const, asset: ASSET };
  const call = (name: string, ...args: string[]) => {
    const values = args.map((one) => Address.fromString(one).toScVal());
    return { contract: ESCROW, function: name, args: values };
  };
  const paid = (by: string): Parameters<ReturnType<typeof stage>["ended"]>[0] => {
    const [source, merchant, asset] = call("", by, MERCHANT!, ASSET).args;
    const rest = [xdr.ScVal.scvI128(new xdr.Int128Parts({ hi: 0n, lo: 1n })), xdr.ScVal.scvU64(1n)];
    const card = xdr.ScVal.scvBytes(new Uint8Array(32));
    return { contract: ESCROW, function: "authorize", args: [source!, card, merchant!, asset!, ...rest] };
  };
  /** The slots that this one reserves: for a payment n next ones and n + 1 first ones, for a claim n next ones. */
  async function reservedFor({ enter }: Pick<ReturnType<typeof stage>, "enter">, source: string): Promise<number> {
    const slot = enter(source, source === MERCHANT ? claim : authorize)!;
    const changes = [left(indexKey, xdr.ScVal.scvU32(200)), left(paymentKey(200), xdr.ScVal.scvBool(true))];
    return written(await slot.widen(simulation([indexKey, paymentKey(200)], changes))).length - 2;
  }

  test("are those of the other payers, each counted once, or for a claim those of all payers", async () => {
    const at = stage();
    for (const n of [1, 2, 2, 3]) at.enter(payer(n), authorize);
    at.enter(payer(4), { ...authorize, merchant: OTHER! });
    assert.equal(await reservedFor(at, payer(1)), 5);
    assert.equal(await reservedFor(at, MERCHANT!), 3);
  });

  test("count until five minutes after their payment or the end of their validity", async () => {
    const at = stage();
    for (const n of [1, 2, 3]) at.enter(payer(n), authorize);
    at.ended(paid(payer(2)), undefined);
    at.passMinutes(4);
    assert.equal(await reservedFor(at, payer(1)), 5, "so many there were lately");
    at.passMinutes(4.9);
    assert.equal(await reservedFor(at, payer(5)), 3, "the one who came last");
    at.passMinutes(11);
    assert.equal(await reservedFor(at, payer(1)), 0);
  });

  test("do not include a withdrawn envelope, and the same payer's earlier one still counts", async () => {
    const at = stage();
    at.enter(payer(1), authorize);
    await withdrawn(at.enter(payer(1), authorize)!);
    await withdrawn(at.enter(payer(2), authorize)!);
    await withdrawn(at.enter(MERCHANT!, claim)!);
    assert.equal(await reservedFor(at, payer(3)), 3);
  });

  test("include a later claim after an earlier one is withdrawn", async () => {
    const at = stage();
    const first = at.enter(MERCHANT!, claim)!;
    at.passMinutes(1);
    at.enter(MERCHANT!, claim);
    await withdrawn(first);
    const kept = await reservedFor(at, payer(1));
    at.ended(call("claim", ASSET, MERCHANT!), undefined);
    assert.deepEqual([kept, await reservedFor(at, payer(1))], [1, 0]);
  });

  test("count for five minutes after a collision, and their number rises with each collision", async () => {
    const at = stage();
    const collide = () => at.ended(paid(payer(1)), new OutsideFootprint("others came between"));
    collide();
    assert.equal(await reservedFor(at, payer(1)), 9);
    for (let again = 0; again < 20; again += 1) collide();
    assert.equal(await reservedFor(at, payer(1)), 41, "the most that are ever reserved");
    at.passMinutes(5.1);
    assert.equal(await reservedFor(at, payer(1)), 0);
  });

  test("are stored for 64 payers at most", async () => {
    const { sharedState } = await openStore("memory:");
    const at = stage(sharedState);
    for (let n = 0; n < 100; n++) at.enter(payer(n), authorize);
    await reservedFor(at, payer(100));
    const { payers } = (await sharedState.read<{ payers: object }>(`slots ${MERCHANT}`))!;
    assert.equal(Object.keys(payers).length, 64);
  });

  test("do not count longer when the store's clock steps back", async () => {
    const clock = createTestClock();
    const { sharedState } = await openStore("memory:", { now: clock.now });
    const at = stage(sharedState);
    at.enter(payer(1), authorize);
    assert.equal(await reservedFor(at, payer(2)), 3);
    clock.step(-3_600_000);
    assert.equal(await reservedFor(at, payer(3)), 0);
  });
});

/** The withdrawal of an envelope, once it is done. */
async function withdrawn(slot: { withdraw(): void }): Promise<void> {
  slot.withdraw();
  for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
}
