// needs: neutral
// needs: neutral
import { Asset, BASE_FEE, Keypair, Operation, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { signed } from "../e2e/client.ts";
import { type GatewayUnderTest, startGateway, startTestNetwork, type TestNetwork } from "../http/test_gateway.ts";
import { assertSound } from "./answers.ts";
import { count, fuzzRandom, inputCount, report, seed, timeoutMs } from "./inputs.ts";
import { mutatedBytes } from "./mutations.ts";

type Account = { address: string; secret: string };

/** Envelopes of every kind of operation, signed and unsigned, a fee bump, and a classic payment. */
async function samples(on: TestNetwork, api: GatewayUnderTest): Promise<string[]> {
  const { owner, agent, merchant } = on.sandbox.accounts;
  const { asset } = on.sandbox;
  const deviceHash = "5a".repeat(32);
  const envelopes: string[] = [];
  const prepare = async (source: Account, operation: object) => {
    const { status, body } = await api.prepare(source, operation);
    assert.equal(status, 200, JSON.stringify(body));
    const xdr = signed(body.xdr, body.networkPassphrase, source.secret);
    envelopes.push(body.xdr, xdr);
    return xdr;
  };
  const write = async (source: Account, operation: object) => {
    const { status, body } = await api.submit(await prepare(source, operation));
    assert.equal(status, 200, JSON.stringify(body));
  };
  await write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  await write(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "50000" });
  await write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "100000" });
  await write(agent, { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "10" });
  await prepare(agent, { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "11" });
  await prepare(merchant, { kind: "claim", asset });
  await prepare(owner, { kind: "defundEscrow", deviceHash, asset, amount: "1" });
  const passphrase = on.network.passphrase;
  const inner = TransactionBuilder.fromXDR(envelopes.at(-1)!, passphrase);
  assert.ok(!("innerTransaction" in inner));
  const payer = Keypair.fromSecret(agent.secret);
  const bump = TransactionBuilder.buildFeeBumpTransaction(payer, "10000000", inner, passphrase);
  bump.sign(Keypair.fromSecret(agent.secret));
  const payment = Operation.payment({ destination: agent.address, asset: Asset.native(), amount: "1" });
  const { sequence, ...options } = { sequence: inner.sequence, fee: BASE_FEE, networkPassphrase: passphrase };
  const account = { accountId: () => owner.address, sequenceNumber: () => sequence, incrementSequenceNumber() {} };
  // deno-lint-ignore no-explicit-any
  const classic = new TransactionBuilder(account as any, options).addOperation(payment).setTimeout(60).build();
  return [...envelopes, bump.toXDR(), classic.toXDR()];
}

test("submit answers any text in place of an envelope with a sound answer", { timeout: timeoutMs }, async () => {
  const on = await startTestNetwork();
  const api = await startGateway(on, { started: false });
  const envelopes = (await samples(on, api)).map((xdr) => Uint8Array.from(Buffer.from(xdr, "base64")));
  const random = fuzzRandom();
  const outcomes = new Map<string, number>();
  const inputs = inputCount(200);
  for (let n = 0; n < inputs; n++) {
    const mutated = Buffer.from(mutatedBytes(random.pick(envelopes), random)).toString("base64");
    const base64 = random.next() < 0.5 ? mutated : signedAgain(mutated, on);
    const xdr = random.next() < 0.9
      ? base64
      : random.pick([base64.slice(1), `${base64}=`, ` ${base64}`, base64.replaceAll("A", "_"), ""]);
    const { status, headers, body } = await api.submit(xdr);
    count(outcomes, `${status} ${body.error?.code ?? ""}`);
    assertSound({ status, headers, text: JSON.stringify(body) }, `seed ${seed}, input ${n}: ${xdr.slice(0, 3_000)}`);
  }
  report("envelopes", inputs, outcomes);
  assert.ok((outcomes.get("400 invalid_request") ?? 0) > inputs / 2);
  assert.doesNotMatch(api.log(), /"level":"error"/);
  await api.stop();
  await on.network.stop();
});

/** The envelope, signed again by all accounts if it still parses, so that it passes more checks. */
function signedAgain(xdr: string, { network: { passphrase }, sandbox: { accounts } }: TestNetwork): string {
  try {
    const transaction = TransactionBuilder.fromXDR(xdr, passphrase);
    transaction.signatures.splice(0);
    for (const { secret } of Object.values(accounts)) transaction.sign(Keypair.fromSecret(secret));
    return transaction.toXDR();
  } catch {
    return xdr;
  }
}
