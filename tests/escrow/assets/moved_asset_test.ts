// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { movedAsset, speaksOfAsset } from "../../../lib/escrow/assets/moved_asset.ts";
import { decodeEvent } from "../../../lib/escrow/events.ts";
import type { AppliedTransaction } from "../../../lib/stellar/rpc/schemas.ts";
import type { PublicEvent } from "../../../lib/store/event.ts";
import { sandboxOfFile } from "../sandbox.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
/** Every event that speaks of an asset, with the transaction that made it. */
let made: {
  event: Pick<PublicEvent, "type" | "deviceHash" | "merchant" | "amount">;
  transaction: AppliedTransaction;
}[];

before(async () => {
  const gateway = sandbox.gateway();
  const { owner, agent, merchant, asset, contracts, network } = sandbox;
  const from = network.latestLedger().sequence + 1;
  const [deviceHash, by] = [CARD, agent.publicKey()];
  await gateway.act(owner, { kind: "registerDevice", deviceHash, agent: by });
  await gateway.act(owner, { kind: "registerAgent", deviceHash, agent: by, asset, maxAmount: "0" });
  await gateway.act(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100" });
  await gateway.act(agent, { kind: "authorize", deviceHash, merchant: merchant.publicKey(), asset, amount: "30" });
  await gateway.act(merchant, { kind: "claim", asset });
  await gateway.act(owner, { kind: "defundEscrow", deviceHash, asset, amount: "20" });
  await gateway.act(owner, { kind: "revokeAgent", deviceHash });
  await gateway.act(owner, { kind: "sweepEscrow", deviceHash, asset, agent: by });
  const { events } = await gateway.rpc.getEvents({
    startLedger: from,
    contractIds: Object.values(contracts),
    limit: 100,
  });
  const cursor = String(BigInt(from) << 32n);
  const { transactions } = await gateway.rpc.getTransactions({ cursor, limit: 200 });
  made = events.flatMap((raw) => {
    const event = decodeEvent(raw, contracts)!;
    const transaction = transactions.find(({ txHash }) => txHash === raw.txHash)!;
    return speaksOfAsset(event) ? [{ event, transaction }] : [];
  });
});

describe("the asset of a movement", () => {
  const read = (change: (transaction: AppliedTransaction) => AppliedTransaction) =>
    Object.fromEntries(made.map(({ event, transaction }) => [
      event.type,
      movedAsset(event, change(transaction), sandbox.contracts),
    ]));
  const all = () => Object.fromEntries(made.map(({ event }) => [event.type, sandbox.asset]));
  /** As of a call that another contract made: the envelope calls something else. */
  const called = (transaction: AppliedTransaction) => ({ ...transaction, envelopeXdr: undefined });

  test("comes from the call in the envelope", () => {
    assert.deepEqual(Object.keys(all()), [
      "agent.registered",
      "escrow.funded",
      "payment.authorized",
      "payment.claimed",
      "escrow.defunded",
      "escrow.swept",
    ]);
    assert.deepEqual(read(({ envelopeXdr, txHash, status }) => ({ envelopeXdr, txHash, status })), all());
  });

  test("comes from the recorded call, when another contract made it", () => {
    assert.deepEqual(read(called), all());
  });

  test("comes from the token's own event, when the node records no calls", () => {
    const moved = { ...all(), "agent.registered": undefined, "payment.authorized": undefined };
    const listed = read((one) => ({ ...called(one), diagnosticEventsXdr: undefined }));
    assert.deepEqual(listed, moved);
  });

  test("is unknown when the transaction has another movement or no movement", () => {
    const [, funded] = made;
    const { event, transaction } = funded!;
    const { contracts } = sandbox;
    assert.equal(movedAsset({ ...event, amount: "101" }, transaction, contracts), undefined);
    assert.equal(
      movedAsset({ ...event, deviceHash: "cd".repeat(32) }, called(transaction), {
        ...contracts,
        paymentEscrow: contracts.deviceRegistry,
      }),
      undefined,
    );
    assert.equal(movedAsset(event, { txHash: transaction.txHash, status: "SUCCESS" }, contracts), undefined);
    assert.equal(movedAsset(event, { ...transaction, envelopeXdr: "AAAA" }, contracts), undefined);
  });
});
