// needs: neutral
import { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isoSeconds } from "../../lib/clock.ts";
import { formatEventId } from "../../lib/store/event.ts";
import type { StoredPayment } from "../../lib/store/payment.ts";
import { sampleState, watcherLease } from "../store/samples.ts";
import { assertInvalid, type GatewayUnderTest, networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();
const PAYMENTS = 2_300;
const FIRST_SECOND = 1_793_491_205;
const [CARD, OTHER] = ["ab".repeat(32), "cd".repeat(32)];
const MERCHANT = Keypair.random().publicKey();
const HEADER = "id,state,authorizedAt,amount,amountUnits,asset,merchant,deviceHash,agent,txHash," +
  "claimedAt,claimTxHash,claimAsset,expiredAt,expiresAt,expiresAtLedger,ledger,reference,idempotencyKey";
let api: GatewayUnderTest;

const idOf = (n: number) => formatEventId({ epoch: 0, ledger: 1_000 + n, order: 4_096, index: 0 });
const hashOf = (n: number) => n.toString(16).padStart(64, "0");

function paymentOf(n: number): StoredPayment {
  const payment: StoredPayment = {
    id: idOf(n),
    state: "pending",
    contractId: on.sandbox.contracts.paymentEscrow,
    ledger: 1_000 + n,
    authorizedAt: FIRST_SECOND + 5 * n,
    txHash: hashOf(n),
    deviceHash: n % 2 === 0 ? CARD : OTHER,
    merchant: MERCHANT,
    amount: String(45_000_000 + n),
    agent: on.sandbox.accounts.agent.address,
    asset: on.sandbox.asset,
    expiresAtLedger: 20_000 + n,
  };
  if (n >= 20) return payment;
  if (n >= 10) {
    const expired = { eventId: `${payment.id}.expired`, ledger: 20_001 + n, at: FIRST_SECOND + 100_000, isOwn: true };
    return { ...payment, state: "expired", expired, asset: undefined, agent: undefined };
  }
  const claim = { eventId: idOf(9_000), txHash: hashOf(9_000), ledger: 10_000, claimedAt: FIRST_SECOND + 900 };
  return { ...payment, state: "claimed", claim: { ...claim, asset: on.sandbox.asset } };
}

before(async () => {
  api = await startGateway(on, { started: false });
  const lease = await watcherLease(api.store);
  await api.store.events.append({ lease, events: [], state: sampleState(9_000) });
  for (let n = 0; n < PAYMENTS; n += 100) {
    const rows = Array.from({ length: 100 }, (_, at) => paymentOf(n + at));
    await api.store.payments.commit({ lease, rows });
  }
});
after(() => api.stop());

/** Sends a request for a file. */
async function ask(query: string, headers: Record<string, string> = {}): Promise<Response> {
  const all = { authorization: `Bearer ${api.apiKey}`, ...headers };
  const request = new Request(`http://gateway.test/v1/payments${query}`, { headers: all });
  return await api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
}

/** The rows of a CSV file, by column. */
function rowsOf(csv: string): Record<string, string>[] {
  const [head = "", ...lines] = csv.trimEnd().split("\r\n");
  assert.equal(head, HEADER);
  const columns = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((cell, at) => [columns[at], cell])));
}

test("CSV has every payment in the order of the list, what became of it, and its amount in units", async () => {
  const response = await ask("?order=asc", { accept: "text/csv" });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  assert.equal(response.headers.get("content-disposition"), 'attachment; filename="payments.csv"');
  const rows = rowsOf(await response.text());
  assert.deepEqual(rows.map(({ id }) => id), Array.from({ length: PAYMENTS }, (_, n) => idOf(n)));
  const { expiresAt, ...claimed } = rows[3]!;
  assert.match(expiresAt!, /^20\d\d-/);
  assert.deepEqual(claimed, {
    id: idOf(3),
    state: "claimed",
    authorizedAt: isoSeconds((FIRST_SECOND + 15) * 1_000),
    amount: "45000003",
    amountUnits: "4.5000003",
    asset: on.sandbox.asset,
    merchant: MERCHANT,
    deviceHash: OTHER,
    agent: on.sandbox.accounts.agent.address,
    txHash: hashOf(3),
    claimedAt: isoSeconds((FIRST_SECOND + 900) * 1_000),
    claimTxHash: hashOf(9_000),
    claimAsset: on.sandbox.asset,
    expiredAt: "",
    expiresAtLedger: "20003",
    ledger: "1003",
    reference: "",
    idempotencyKey: "",
  });
  const { state, asset, amount, amountUnits, expiredAt } = rows[12]!;
  assert.deepEqual([state, asset, amount, amountUnits], ["expired", "", "45000012", ""]);
  assert.equal(expiredAt, isoSeconds((FIRST_SECOND + 100_000) * 1_000));
});

test("a file has the filters, the order, the limit and the cursor of a page", async () => {
  const idsOf = async (query: string) =>
    (await (await ask(`?format=jsonl&${query}`)).text()).trimEnd().split("\n").map((line) => JSON.parse(line).id);
  const { body } = await api.request("GET", "/v1/payments?limit=5");
  assert.deepEqual(await idsOf("limit=5"), body.payments.map(({ id }: { id: string }) => id));
  const rest = await idsOf(`cursor=${body.cursor}`);
  assert.deepEqual([rest.length, rest[0], rest.at(-1)], [PAYMENTS - 5, idOf(PAYMENTS - 6), idOf(0)]);
  assert.deepEqual(await idsOf("state=claimed&order=asc"), Array.from({ length: 10 }, (_, n) => idOf(n)));
  assert.equal((await idsOf(`deviceHash=${CARD}`)).length, PAYMENTS / 2);
  const [from, to] = [FIRST_SECOND + 5 * 100, FIRST_SECOND + 5 * 103];
  assert.deepEqual(await idsOf(`from=${from}&to=${to}`), [idOf(102), idOf(101), idOf(100)]);
  assert.deepEqual(rowsOf(await (await ask("?format=csv&state=unknown")).text()), []);
  assertInvalid(
    await api.request("GET", "/v1/payments?format=xml"),
    /^format must be one of json, csv, jsonl/,
    "format",
  );
});

test("a key has one export at a time, of whatever list", async () => {
  const open = await ask("?format=csv");
  const second = await api.request("GET", "/v1/events?format=csv");
  assert.deepEqual([second.status, second.body.error.code], [429, "rate_limited"]);
  await open.text();
  assert.equal((await ask("?format=csv&limit=1")).status, 200);
});
