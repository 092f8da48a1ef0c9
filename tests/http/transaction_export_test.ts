// needs: neutral
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isoTime } from "../../lib/clock.ts";
import type { SubmittedTransaction } from "../../lib/store/transaction.ts";
import { assertInvalid, type GatewayUnderTest, networkOfFile, startGateway } from "./test_gateway.ts";

const on = networkOfFile();
const TRANSACTIONS = 2_300;
const FIRST_MS = 1_793_491_205_250;
const HEADER = "hash,kind,source,status,ledger,reference,idempotencyKey,submittedAt";
let api: GatewayUnderTest;

const hashOf = (n: number) => n.toString(16).padStart(64, "0");

/** The keys submit in turns. Each tenth transaction failed before the network. */
function transactionOf(n: number, [mine, other]: string[]): SubmittedTransaction {
  return {
    keyId: n % 2 === 0 ? mine! : other!,
    hash: hashOf(n),
    kind: n % 3 === 0 ? "claim" : "authorize",
    source: on.sandbox.accounts.agent.address,
    submittedAtMs: FIRST_MS + n,
    ...(n % 10 === 0 ? { status: "rejected" } : { status: "success", ledger: 1_000 + n }),
    ...(n === 4 ? { reference: "=order, 4", idempotencyKey: "pay-4" } : {}),
  };
}

before(async () => {
  api = await startGateway(on, { started: false });
  const [mine] = await api.store.keys.list({ limit: 1 });
  const all = Array.from({ length: 2 * TRANSACTIONS }, (_, n) => transactionOf(n, [mine!.id, "another"]));
  await Promise.all(all.map((one) => api.store.transactions.add(one)));
});
after(() => api.stop());

async function ask(query: string, headers: Record<string, string> = {}): Promise<Response> {
  const all = { authorization: `Bearer ${api.apiKey}`, ...headers };
  const request = new Request(`http://gateway.test/v1/transactions${query}`, { headers: all });
  return await api.gateway.fetch(request, { remoteAddress: "198.51.100.7" });
}

test("CSV has every transaction of the key in the order of the list, with the fields of JSON", async () => {
  const response = await ask("?order=asc", { accept: "text/csv" });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/csv; charset=utf-8; header=present");
  assert.equal(response.headers.get("content-disposition"), 'attachment; filename="transactions.csv"');
  const [head, ...lines] = (await response.text()).trimEnd().split("\r\n");
  assert.equal(head, HEADER);
  const hashes = Array.from({ length: TRANSACTIONS }, (_, n) => hashOf(2 * n));
  assert.deepEqual(lines.map((line) => line.slice(0, 64)), hashes);
  const { address } = on.sandbox.accounts.agent;
  assert.equal(
    lines[2],
    `${hashOf(4)},authorize,${address},success,1004,"'=order, 4",pay-4,${isoTime(FIRST_MS + 4)}`,
  );
  assert.equal(lines[5], `${hashOf(10)},authorize,${address},rejected,,,,${isoTime(FIRST_MS + 10)}`);
});

test("a file has the filters, the order, the limit and the cursor of a page, and JSON Lines the objects of JSON", async () => {
  const rowsOf = async (query: string) =>
    (await (await ask(`?format=jsonl&${query}`)).text()).trimEnd().split("\n").map((line) => JSON.parse(line));
  const { body } = await api.request("GET", "/v1/transactions?limit=5&kind=claim");
  assert.deepEqual(await rowsOf("limit=5&kind=claim"), body.transactions);
  const rest = await rowsOf(`kind=claim&cursor=${body.cursor}`);
  assert.deepEqual([rest.length, rest.at(-1).hash], [Math.ceil(TRANSACTIONS / 3) - 5, hashOf(0)]);
  assert.equal((await rowsOf("status=rejected")).length, TRANSACTIONS / 5);
  const [from, to] = [isoTime(FIRST_MS + 100), isoTime(FIRST_MS + 104)];
  assert.deepEqual((await rowsOf(`from=${from}&to=${to}`)).map(({ hash }) => hash), [hashOf(102), hashOf(100)]);
  assert.equal(await (await ask("?format=csv&reference=none")).text(), `${HEADER}\r\n`);
  assertInvalid(
    await api.request("GET", "/v1/transactions?format=xml"),
    /^format must be one of json, csv, jsonl/,
    "format",
  );
});
