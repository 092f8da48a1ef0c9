// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { signed } from "../e2e/client.ts";
import { addressOf, callNow } from "../sandbox/past_the_gateway.ts";
import { forTier } from "../tier.ts";
import { type GatewayUnderTest, startGateway, type TestNetwork } from "./test_gateway.ts";
import { limitsFor, startTightNetwork } from "./tight_network.ts";

let on: TestNetwork;
let api: GatewayUnderTest;
let owner: Keypair;
let cards = 0;
before(async () => {
  on = await startTightNetwork(LIMITS);
  owner = Keypair.fromSecret(on.sandbox.accounts.owner.secret);
});
after(async () => {
  await api?.stop();
  await on.network.stop();
});

const LIMITS = limitsFor({ written: 20, touched: 40 });
/** A wallet with this many cards can revoke any of them. */
const IN_ANY_ORDER = LIMITS.written - 2;
/** A wallet with more cards can revoke none. */
const MOST = LIMITS.touched - 4;

const card = (place: number) => place.toString(16).padStart(64, "0");

/** Registers cards until the wallet has so many, and starts a gateway that has read nothing yet. */
async function grow(to: number): Promise<void> {
  const { deviceRegistry } = on.sandbox.contracts;
  while (cards < to) {
    callNow(on.network, owner, deviceRegistry, "register", addressOf(owner), hashVal(card(++cards)), addressOf(owner));
  }
  await api?.stop();
  api = await startGateway(on, { started: false });
}

const prepare = (operation: object, headers?: Record<string, string>) => api.prepare(owner, operation, { headers });

const revoke = (place: number) => prepare({ kind: "revokeDevice", deviceHash: card(place) });
const register = (headers?: Record<string, string>) =>
  prepare({ kind: "registerDevice", deviceHash: "ff".repeat(32), agent: owner.publicKey() }, headers);

const act = (operation: object) => api.write(owner, operation);

// One wallet that grows.
describe("a wallet with more and more cards", () => {
  test("gets no warning while each card can be revoked", async () => {
    await grow(IN_ANY_ORDER - 1);
    assert.equal((await register()).body.warning, undefined);
    assert.equal((await revoke(1)).status, 200);
  });

  test("gets a warning when with the next card its oldest one can be revoked only after newer ones", async () => {
    await grow(IN_ANY_ORDER);
    assert.equal((await revoke(1)).status, 200);
    const { body } = await register();
    assert.equal(
      body.warning,
      `with this card the wallet has ${
        IN_ANY_ORDER + 1
      } cards, and its oldest one can be revoked only after newer ones. ` +
        `Of more than ${MOST} the contract can revoke none. Register further cards with another wallet`,
    );
    const keyed = await register({ "idempotency-key": "register-one-more" });
    assert.equal(keyed.body.warning, body.warning);
    await grow(IN_ANY_ORDER + 1);
    assert.match(
      (await revoke(1)).body.error.message,
      new RegExp(`this is number 1 of ${IN_ANY_ORDER + 1}: revoke a newer card of this wallet first$`),
    );
  });

  test("gets the number of newer cards to revoke before an old one, and that number suffices", async () => {
    const old = forTier({ test: 5, all: 50 });
    const all = LIMITS.written + old;
    await grow(all);
    const warning = `has ${all + 1} cards, and its ${old + 3} oldest ones can be revoked only after newer ones`;
    assert.ok((await register()).body.warning.includes(warning));
    const { status, body: { error: { message } } } = await revoke(old);
    assert.equal(status, 400, message);
    const { written } = LIMITS;
    const limit = `would write ${written + 3} ledger entries, where ${written} are allowed): the contract moves`;
    assert.ok(message.includes(limit), message);
    assert.ok(message.endsWith(`this is number ${old} of ${all}: revoke 3 newer cards of this wallet first`), message);
    for (let place = all; place > all - 3; place -= 1) await act({ kind: "revokeDevice", deviceHash: card(place) });
    await act({ kind: "revokeDevice", deviceHash: card(old) });
  });

  test("can revoke a card under an Idempotency-Key at the largest number of cards", async () => {
    // The wallet has revoked four of these cards.
    await grow(MOST + 4);
    const operation = { kind: "revokeDevice", deviceHash: card(MOST + 4) };
    const keyed = { "idempotency-key": "a-lost-card" };
    const { status, body } = await prepare(operation, keyed);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual((await prepare(operation, keyed)).body, body);
    const xdr = signed(body.xdr, body.networkPassphrase, owner.secret());
    const submitted = await api.submit(xdr, { headers: keyed });
    assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
    const { ledger } = submitted.body;
    assert.deepEqual((await prepare(operation, keyed)).body, { ...body, status: "success", ledger });
  });

  test("with too many cards gets a refusal that names the operations that still work, and they work", async () => {
    const all = LIMITS.touched + 20;
    // The wallet has revoked five of these cards.
    await grow(all + 5);
    for (const place of [1, LIMITS.written, all + 5]) {
      const { status, body } = await revoke(place);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(
        body.error.message,
        new RegExp(
          `: the contract reads all ${all} cards of this wallet to revoke one, and can read ${MOST} at most, so it can ` +
            "revoke none of them\\. For each card revokeAgent still ends its payments, and sweepEscrow or defundEscrow " +
            "then takes its money back$",
        ),
      );
    }
    assert.equal(
      (await register()).body.warning,
      `with this card the wallet has ${
        all + 1
      } cards, and of more than ${MOST} the contract can revoke none. revokeAgent, ` +
        "sweepEscrow and defundEscrow still work for each. Register further cards with another wallet",
    );
    const { asset } = on.sandbox;
    const of = { deviceHash: card(1) };
    const agent = owner.publicKey();
    await act({ kind: "registerAgent", ...of, agent, asset, maxAmount: "50" });
    await act({ kind: "fundEscrow", ...of, asset, amount: "20" });
    await act({ kind: "defundEscrow", ...of, asset, amount: "5" });
    await act({ kind: "revokeAgent", ...of });
    await act({ kind: "sweepEscrow", ...of, asset, agent });
    await act({ kind: "registerDevice", deviceHash: "ff".repeat(32), agent });
    assert.equal((await api.request("GET", `/v1/devices/${card(1)}`)).body.escrowBalance, "0");
  });
});
