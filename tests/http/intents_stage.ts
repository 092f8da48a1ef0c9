import { type Keypair, type Transaction, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { contractCall, operationDigest, type PreparedOperation } from "../../lib/escrow/operations/operations.ts";
import type { Gateway } from "../../lib/gateway/gateway.ts";
import { type Card, type IntentsStage, setIntentsStage } from "../faults/intents_stage.ts";
import type { NodeFaults } from "../faults/node_faults.ts";
import { memoryStore } from "../faults/shared_stores.ts";
import type { Store } from "../../lib/store/store.ts";

export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  // deno-lint-ignore no-explicit-any -- whatever an endpoint answers
  body: any;
}

export interface Asking {
  key?: string;
  apiKey?: string;
  of?: Gateway;
  method?: string;
  /** Aborted when the caller disconnects. */
  signal?: AbortSignal;
}

export type IntentCalls = Awaited<ReturnType<typeof startIntentCalls>>;

/** Asserts that a repeated prepare answers the first envelope byte for byte, with status success and its ledger. */
export function assertDone(again: Answered, first: Answered): void {
  assert.ok(Number.isInteger(again.body.ledger), again.text);
  assert.equal(again.text, `${first.text.slice(0, -1)},"status":"success","ledger":${again.body.ledger}}`);
}

/** A node that has forgotten every ledger but its newest, and so every transaction. */
export const forgetful: NodeFaults = async (init, ask) => {
  const answer = await (await ask()).json();
  const { method, params } = JSON.parse(String(init.body));
  if (method !== "getTransaction") return Response.json(answer);
  const { latestLedger, latestLedgerCloseTime } = answer.result;
  const oldest = { oldestLedger: latestLedger, oldestLedgerCloseTime: latestLedgerCloseTime };
  const stamp = { latestLedger, latestLedgerCloseTime, ...oldest };
  return Response.json({ ...answer, result: { status: "NOT_FOUND", txHash: params.hash, ...stamp } });
};

/** A node whose connection is cut once it has a submitted transaction; it takes no call from then on. */
export function cutAfterSubmit(): NodeFaults {
  let isCut = false;
  return async (init, ask) => {
    if (!isCut) isCut = JSON.parse(String(init.body)).method === "sendTransaction" && (await ask()).ok;
    return isCut ? await Promise.reject(new TypeError("connection reset")) : await ask();
  };
}

/** What the escrow of each card holds. */
const ESCROW = "10000000000";

/** Asserts that the answer is 400 for the header Idempotency-Key, with this message and retry. */
export function assertKeyRefused({ status, body }: Answered, message = /./, retry?: string): void {
  assert.deepEqual([status, body.error?.param], [400, "Idempotency-Key"], JSON.stringify(body));
  assert.match(body.error.message, message);
  if (retry !== undefined) assert.equal(body.error.retry, retry);
}

/** Starts two gateways on one store, as two processes on a shared store, and returns calls for tests. */
export async function startIntentCalls(cardCount: number) {
  const stage: IntentsStage = await setIntentsStage(memoryStore(), cardCount);
  const { gateway } = await stage.time.until(stage.live());
  const { gateway: other } = await stage.time.until(stage.live());
  let cards = 0;

  /** A card that no other test uses. */
  const newCard = (): Card => stage.cards[cards++]!;
  const pass = (seconds: number) => stage.time.until(stage.time.wait(seconds * 1_000));

  /** Sends a request to a gateway. Await it with `stage.time`. */
  async function ask(
    path: string,
    body: unknown,
    { key, apiKey = stage.apiKey, of = gateway, method = "POST", signal }: Asking = {},
  ) {
    const request = new Request(`http://gateway.test${path}`, {
      method,
      signal,
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        ...(key === undefined ? {} : { "idempotency-key": key }),
      },
      body: method === "GET" ? undefined : JSON.stringify(body),
    });
    const response = await Promise.resolve(of.fetch(request, { remoteAddress: "198.51.100.7" }));
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) } satisfies Answered;
  }

  const asked = (...of: Parameters<typeof ask>) => stage.time.until(ask(...of));

  const funding = ({ owner, deviceHash }: Card, amount = "7") => ({
    source: owner.publicKey(),
    operation: { kind: "fundEscrow", deviceHash, asset: stage.asset, amount },
  });
  const prepared = (card: Card, asking: Asking, amount?: string) =>
    asked("/v1/transactions/prepare", funding(card, amount), asking);

  function signed(envelope: string, source: Keypair): { xdr: string } {
    const transaction = TransactionBuilder.fromXdr(envelope, stage.network.passphrase);
    transaction.sign(source);
    return { xdr: transaction.toXdr() };
  }

  const submitted = (card: Card, envelope: string, asking: Asking = {}) =>
    asked("/v1/transactions/submit", signed(envelope, card.owner), asking);

  /** The digest of the operation of `funding`, as the submission log has it. */
  function digestOf(card: Card): string {
    const { source, operation } = funding(card);
    return operationDigest(contractCall(stage.contracts, source, operation as PreparedOperation));
  }

  /** Submits an envelope with another account's signature, so that the network rejects it. */
  async function turnDown(card: Card, xdr: string, key: string): Promise<void> {
    const { body } = await asked("/v1/transactions/submit", signed(xdr, card.agent), { key });
    assert.equal(body.error.transactionError, "txBadAuth");
    await pass(6);
  }

  /** Applies another payment of the card's owner, so that his next sequence number is used. */
  async function useSequence(card: Card): Promise<void> {
    const { body } = await prepared(card, {}, "1");
    assert.equal((await submitted(card, body.xdr)).status, 200);
  }

  /** A fee bump of an envelope that the owner signed; the card's agent pays this fee. */
  function bumped(card: Card, xdr: string, fee: number): { xdr: string } {
    const { passphrase } = stage.network;
    const inner = TransactionBuilder.fromXdr(signed(xdr, card.owner).xdr, passphrase) as Transaction;
    const bump = TransactionBuilder.buildFeeBumpTransaction(card.agent, String(fee), inner, passphrase);
    bump.sign(card.agent);
    return { xdr: bump.toXdr() };
  }

  /** Applies an envelope without the gateways, which record nothing of it. */
  async function applyElsewhere(card: Card, envelope: string): Promise<void> {
    const { xdr } = signed(envelope, card.owner);
    stage.network.submit(TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope().toXdr());
    await pass(6);
  }

  /** The body that prepares a payment from a card to its owner, with the agent as source. */
  function payment({ agent, owner, deviceHash }: Card, amount = "7") {
    const payment = { kind: "authorize", deviceHash, merchant: owner.publicKey(), asset: stage.asset, amount };
    return { source: agent.publicKey(), operation: payment };
  }

  /** Moves the owner's money into or out of the card's escrow. */
  async function move(
    { owner, deviceHash }: Card,
    kind: "fundEscrow" | "defundEscrow",
    amount = ESCROW,
  ): Promise<void> {
    const request = { source: owner.publicKey(), operation: { kind, deviceHash, asset: stage.asset, amount } };
    const { body } = await asked("/v1/transactions/prepare", request);
    const done = await asked("/v1/transactions/submit", signed(body.xdr, owner));
    assert.equal(done.status, 200, done.text);
    await pass(6);
  }

  /** The answer about a transaction. */
  const outcomeOf = (hash: string, asking: Asking = {}) =>
    asked(`/v1/transactions/${hash}`, undefined, { method: "GET", ...asking });

  /** Another gateway on the store, with a faulty node or store. */
  const gatewayWith = async (faults?: NodeFaults, bent?: (store: Store) => Store) =>
    (await stage.time.until(stage.live(Infinity, faults, bent))).gateway;

  const calls = { ask, asked, prepared, submitted, outcomeOf, gatewayWith, move };
  const envelopes = { funding, payment, signed, bumped, digestOf };
  return { stage, gateway, other, newCard, pass, ...calls, ...envelopes, turnDown, useSequence, applyElsewhere };
}
