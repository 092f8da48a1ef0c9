// needs: neutral
import { Keypair, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Operation, toUnits } from "../../lib/client/client.ts";
import { until } from "../until.ts";
import { type Ask, hashOfName, startStage, tampered } from "./client_stage.ts";

let stage: Awaited<ReturnType<typeof startStage>>;
const keys = {} as Record<"owner" | "agent" | "merchant", Keypair>;
before(async () => {
  stage = await startStage();
  for (const name of ["owner", "agent", "merchant"] as const) {
    keys[name] = Keypair.fromSecret(stage.accounts[name].secret);
  }
});
after(() => stage.stop());

let cards = 0;
/** A new card with 10 units of money and an agent who may spend them. */
async function fundedCard(): Promise<string> {
  const deviceHash = hashOfName(`a card of the client ${cards++}`);
  const gateway = stage.client();
  const agent = stage.accounts.agent.address;
  const operations: Operation[] = [
    { kind: "registerDevice", deviceHash, agent },
    { kind: "registerAgent", deviceHash, agent, asset: stage.asset, maxAmount: "0" },
    { kind: "fundEscrow", deviceHash, asset: stage.asset, amount: toUnits("10") },
  ];
  for (const operation of operations) {
    const written = await gateway.write(operation, keys.owner);
    assert.ok(written.ok, JSON.stringify(written));
  }
  return deviceHash;
}

const payment = (deviceHash: string, amount = toUnits("1")): Operation => ({
  kind: "authorize",
  deviceHash,
  merchant: stage.accounts.merchant.address,
  asset: stage.asset,
  amount,
});

async function balance(deviceHash: string): Promise<string> {
  const device = await stage.client().device(deviceHash);
  assert.ok(device.ok);
  return device.escrowBalance;
}

test("writes cover a card's whole life, each signed by its account's keypair", async () => {
  const gateway = stage.client();
  const deviceHash = await fundedCard();
  const paid = await gateway.write(payment(deviceHash, toUnits("4")), keys.agent);
  assert.ok(paid.ok && paid.ledger > 0, JSON.stringify(paid));
  assert.ok(paid.operation.kind === "authorize" && BigInt(paid.operation.nonce) > 0n);
  assert.equal(await balance(deviceHash), toUnits("6"));
  const rest = [
    [{ kind: "claim", asset: stage.asset }, keys.merchant],
    [{ kind: "defundEscrow", deviceHash, asset: stage.asset, amount: toUnits("1") }, keys.owner],
    [{ kind: "revokeAgent", deviceHash }, keys.owner],
    [{ kind: "sweepEscrow", deviceHash, asset: stage.asset, agent: stage.accounts.agent.address }, keys.owner],
    [{ kind: "revokeDevice", deviceHash }, keys.owner],
  ] as const;
  for (const [operation, key] of rest) {
    const written = await gateway.write(operation, key);
    assert.ok(written.ok, JSON.stringify(written));
  }
});

test("a wallet's function signs, in both forms of wallet answers", async () => {
  const deviceHash = await fundedCard();
  const source = stage.accounts.agent.address;
  const sign = (envelope: string) => {
    const transaction = TransactionBuilder.fromXDR(envelope, stage.network.networkPassphrase);
    transaction.sign(keys.agent);
    return transaction.toXDR();
  };
  const seen: unknown[] = [];
  const noting = (envelope: string, about: unknown) => (seen.push(about), sign(envelope));
  const plain = await stage.client().write(payment(deviceHash), noting, { source });
  assert.ok(plain.ok, JSON.stringify(plain));
  const { networkPassphrase } = stage.network;
  assert.deepEqual(seen, [{ networkPassphrase, address: source, hash: plain.hash, operation: plain.operation }]);
  const asObject = (envelope: string) => Promise.resolve({ signedTxXdr: sign(envelope), signerAddress: source });
  const wallet = await stage.client().write(payment(deviceHash), asObject, { source });
  assert.ok(wallet.ok, JSON.stringify(wallet));
  assert.equal(await balance(deviceHash), toUnits("8"));
});

test("a wallet that declines, signs nothing or signs another transaction ends the write before the submit", async () => {
  const deviceHash = await fundedCard();
  const source = stage.accounts.agent.address;
  const sent: string[] = [];
  const ask: Ask = (url, init) => (sent.push(url), stage.ask(url, init));
  const other = await stage.client().prepare({ source, operation: payment(deviceHash, "1") });
  assert.ok(other.ok);
  const answers: [() => string | { signedTxXdr: string; error?: unknown }, RegExp][] = [
    [() => {
      throw new Error("the user declined");
    }, /the user declined/],
    [() => ({ signedTxXdr: "", error: { code: -4, message: "The user rejected this request." } }), /user rejected/],
    [() => other.xdr!, /another transaction/],
    [() => "", /must be a transaction envelope/],
  ];
  for (const [sign, message] of answers) {
    const written = await stage.client({ fetch: ask }).write(payment(deviceHash), sign, { source });
    assert.ok(!written.ok);
    assert.deepEqual([written.reason, written.retry], ["not_signed", "never"]);
    assert.match(written.message, message);
  }
  assert.ok(!sent.some((url) => url.includes("submit")));
});

test("a write with a reference finds its own event by it", async () => {
  const gateway = stage.client();
  const deviceHash = hashOfName(`a card of the client ${cards++}`);
  const operation = { kind: "registerDevice", deviceHash, agent: stage.accounts.agent.address } as const;
  const written = await gateway.write(operation, keys.owner, { reference: "card of Ada" });
  assert.ok(written.ok, JSON.stringify(written));
  for await (const event of gateway.events({ deviceHash })) {
    assert.deepEqual([event.txHash, event.reference], [written.hash, "card of Ada"]);
    break;
  }
});

test("a gateway that prepares another operation gets no signature", async () => {
  const deviceHash = await fundedCard();
  const owner = stage.accounts.owner.address;
  const fund: Operation = { kind: "fundEscrow", deviceHash, asset: stage.asset, amount: "5" };
  const evil = stage.client();
  const others: Operation[] = [
    { ...fund, amount: "5000000" },
    { kind: "defundEscrow", deviceHash, asset: stage.asset, amount: "5" },
    { kind: "registerDevice", deviceHash: hashOfName("the thief's"), agent: owner },
  ];
  for (const operation of others) {
    const prepared = await evil.prepare({ source: owner, operation });
    assert.ok(prepared.ok, JSON.stringify(prepared));
    let isAsked = false;
    // It lies in every field beside the envelope, too.
    const ask = tampered(stage.ask, "/prepare", (honest) => ({ ...honest, xdr: prepared.xdr }));
    const written = await stage.client({ fetch: ask }).write(fund, (xdr) => (isAsked = true, xdr), { source: owner });
    assert.ok(!written.ok);
    assert.equal(written.reason, "envelope_refused");
    assert.match(written.message, /is not the requested/);
    assert.equal(isAsked, false);
  }
});

test("a gateway that names other contracts or another network gets no signature for them", async () => {
  const deviceHash = await fundedCard();
  const { contracts } = stage.network;
  const elsewhere = { ...stage.network, contracts: { ...contracts, paymentEscrow: contracts.deviceRegistry } };
  const operation: Operation = { kind: "fundEscrow", deviceHash, asset: stage.asset, amount: "5" };
  const written = await stage.client({ network: elsewhere }).write(operation, keys.owner);
  assert.equal(!written.ok && written.reason, "envelope_refused");
  let signed = "";
  const other = { ...stage.network, networkPassphrase: "Public Global Stellar Network ; September 2015" };
  const ask = tampered(stage.ask, "/prepare", (body) => ({ ...body, networkPassphrase: other.networkPassphrase }));
  const trusted = await stage.client({ fetch: ask }).write(operation, {
    publicKey: () => keys.owner.publicKey(),
    sign: (data) => (signed = xdr.encodeBytes(data, "hex"), keys.owner.sign(data as never)),
  });
  assert.ok(trusted.ok, "the client goes by its own passphrase");
  assert.equal(signed, trusted.hash);
});

test("an envelope with too high a fee or too long a validity is not signed", async () => {
  const deviceHash = await fundedCard();
  const cases: [object, RegExp][] = [[{ maxFee: "100" }, /100 are allowed/], [
    { maxValiditySeconds: 60 },
    /applied until/,
  ]];
  for (const [bounds, message] of cases) {
    const written = await stage.client().write(payment(deviceHash), keys.agent, bounds);
    assert.ok(!written.ok && written.reason === "envelope_refused");
    assert.match(written.message, message);
  }
  assert.throws(() => void stage.client({ network: undefined }).write(payment(deviceHash), keys.agent), TypeError);
});

test("a refusal of a contract has the contract's error name", async () => {
  const deviceHash = await fundedCard();
  const written = await stage.client().write(payment(deviceHash, toUnits("11")), keys.agent);
  assert.ok(!written.ok);
  const { reason, contractError, status } = written;
  assert.deepEqual([reason, contractError, status], ["contract_refused", "InsufficientBalance", 422]);
  assert.ok(written.requestId);
});

test("a refusal in a ledger has the contract's error name, also after a lost submit answer", async () => {
  const deviceHash = await fundedCard();
  const source = stage.accounts.agent.address;
  const sign = async (envelope: string) => {
    // Between prepare and submit the owner takes the agent's right away.
    assert.ok((await stage.client().write({ kind: "revokeAgent", deviceHash }, keys.owner)).ok);
    const transaction = TransactionBuilder.fromXDR(envelope, stage.network.networkPassphrase);
    transaction.sign(keys.agent);
    return transaction.toXDR();
  };
  const fetch = losing("/submit", { answers: 1 });
  const written = await stage.client({ fetch }).write(payment(deviceHash), sign, { source });
  assert.ok(!written.ok);
  const { reason, contractError, paymentReason, retry, status } = written;
  assert.deepEqual([reason, contractError, paymentReason], [
    "contract_refused",
    "AgentNotAuthorized",
    "agent_not_found",
  ]);
  assert.deepEqual([retry, status], ["never", undefined]);
});

/** Lets requests through, and loses the answers of the first so many to one path. */
function losing(path: string, { answers = 0, requests = 0 }): Ask {
  let [answersLeft, requestsLeft] = [answers, requests];
  return async (url, init) => {
    const isOne = url.includes(path);
    if (isOne && requestsLeft-- > 0) throw new TypeError("connection refused");
    const response = await stage.ask(url, init);
    if (!isOne || answersLeft-- <= 0) return response;
    await response.text();
    throw new TypeError("the connection was cut");
  };
}

const LOST: [what: string, fetch: () => Ask][] = [
  ["its requests to prepare are lost", () => losing("/prepare", { requests: 3 })],
  ["the answers of prepare are lost", () => losing("/prepare", { answers: 2 })],
  ["its requests to submit are lost", () => losing("/submit", { requests: 3 })],
  ["the answers of submit are lost", () => losing("/submit", { answers: 3 })],
];
for (const [what, fetch] of LOST) {
  test(`a payment is made once when ${what}`, async () => {
    const deviceHash = await fundedCard();
    const written = await stage.client({ fetch: fetch() }).write(payment(deviceHash), keys.agent);
    assert.ok(written.ok, JSON.stringify(written));
    assert.equal(await balance(deviceHash), toUnits("9"));
    const payments = async () => {
      const page = await stage.client().eventPage({ deviceHash, types: ["payment.authorized"] });
      assert.ok(page.ok);
      return page.events.map(({ txHash }) => txHash);
    };
    await until(async () => (await payments()).length > 0);
    assert.deepEqual(await payments(), [written.hash]);
  });
}

test("one idempotencyKey is one payment, and its second use signs nothing", async () => {
  const deviceHash = await fundedCard();
  const first = await stage.client().write(payment(deviceHash), keys.agent, { idempotencyKey: "order-4711" });
  assert.ok(first.ok, JSON.stringify(first));
  const options = { idempotencyKey: "order-4711", source: stage.accounts.agent.address };
  const asked = () => assert.fail("it is asked for a signature");
  const again = await stage.client().write(payment(deviceHash), asked, options);
  assert.deepEqual(again, first);
  assert.equal(await balance(deviceHash), toUnits("9"));
  const other = await stage.client().write(payment(deviceHash, "2"), keys.agent, { idempotencyKey: "order-4711" });
  assert.ok(!other.ok);
  assert.deepEqual([other.reason, other.param], ["invalid_request", "Idempotency-Key"]);
});

test("parallel payments of one account all succeed, by another prepare", async () => {
  const deviceHash = await fundedCard();
  const written = await Promise.all([1, 2, 3].map(() => stage.client().write(payment(deviceHash), keys.agent)));
  for (const one of written) assert.ok(one.ok, JSON.stringify(one));
  assert.equal(await balance(deviceHash), toUnits("7"));
});

test("an unknown outcome is reported with the hash", async () => {
  const deviceHash = await fundedCard();
  const giveUp = new AbortController();
  const ask: Ask = async (url, init) => {
    if (!/submit|transactions\/[0-9a-f]/.test(url)) return await stage.ask(url, init);
    if (url.includes("submit")) await stage.ask(url, { ...init, signal: undefined });
    giveUp.abort();
    throw new TypeError("the connection was cut");
  };
  const written = await stage.client({ fetch: ask }).write(payment(deviceHash), keys.agent, { signal: giveUp.signal });
  assert.ok(!written.ok);
  assert.deepEqual([written.reason, written.retry], ["outcome_unknown", "same"]);
  const became = await stage.client().transaction(written.hash!);
  assert.equal(became.ok && became.status, "success");
  assert.equal(await balance(deviceHash), toUnits("9"));
});
