// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, json, python, skip } from "./client_py_stage.ts";

/** A write with a fake envelope, because this machine may have no stellar-sdk. */
const WRITE = `class Envelope:
    signatures = []
    def sign(self, _key): self.signatures = [1]
    def hash_hex(self): return "ab" * 32
    def to_xdr(self): return "AAAA"
class Key:
    public_key = "G"
client.checked_envelope = lambda *_: Envelope()
result = refusal(lambda: gateway.write({"kind": "claim"}, Key()))`;
const PREPARED = json({ xdr: "AAAA", validUntil: 99_999_999_999, operation: {} });

test("write retries after an answer that breaks off, until it knows the outcome", { skip }, async () => {
  const { result, asked } = await python(
    WRITE,
    [PREPARED, cut(json({ hash: "ab".repeat(32), ledger: 9 })), json({ hash: "ab".repeat(32), ledger: 9 })],
  );
  assert.deepEqual(result, { hash: "ab".repeat(32), ledger: 9 }, JSON.stringify(asked));
});

test("write ignores a 200 answer that is not a submit result, and retries", { skip }, async () => {
  const made = { hash: "ab".repeat(32), ledger: 9 };
  for (const others of [[{ status: "ok" }, { status: "success", ledger: 7 }], [[], { status: "failed" }], ["no", []]]) {
    const { result } = await python(WRITE, [PREPARED, ...others.map((other) => json(other)), json(made)]);
    assert.deepEqual(result, made);
  }
});

test("write raises outcome_unknown when the API key expires after the first submit", {
  skip,
}, async () => {
  const refused = json(
    { error: { code: "unauthorized", message: "the API key has expired", retry: "never" } },
    "401 Unauthorized",
  );
  const { result } = await python(
    WRITE,
    [
      PREPARED,
      // The first submit reaches the network, but its answer is lost.
      "",
      refused,
    ],
  );
  assert.equal(result, "GatewayError outcome_unknown");
});

test("write raises the transaction's own error when its submits get no answer", { skip }, async () => {
  const away = json({ error: { code: "upstream_error", message: "no node", retry: "same" } }, "502 Bad Gateway");
  const status = {
    hash: "ab".repeat(32),
    status: "failed",
    error: "no such card",
    contractError: "NotFound",
    retry: "never",
  };
  const { result } = await python(`gateway.patience = 0\n${WRITE}`, [PREPARED, away, json(status)]);
  assert.equal(result, "GatewayError contract_refused");
});

test("write raises outcome_unknown while a rejected or replaced envelope may still be applied", {
  skip,
}, async () => {
  const refused = (fields: object, status: string) => json({ error: { message: "no", ...fields } }, status);
  const turnedDown = [
    PREPARED,
    refused({ code: "invalid_request", transactionError: "txBadSeq", retry: "prepare_again" }, "400 Bad Request"),
    json({ hash: "ab".repeat(32), status: "rejected", retry: "prepare_again" }),
  ];
  const ended = refused({ code: "unauthorized", retry: "never" }, "401 Unauthorized");
  assert.equal((await python(WRITE, [...turnedDown, ended])).result, "GatewayError outcome_unknown");
  // The same when a caller reuses the key and the node rejects the replacement envelope.
  const inPlace = json({ xdr: "AAAA", validUntil: 99_999_999_999, operation: {}, replaces: "cd".repeat(32) });
  const poor = refused(
    { code: "invalid_request", transactionError: "txInsufficientBalance", retry: "never" },
    "400 No",
  );
  const rejected = json({ hash: "ab".repeat(32), status: "rejected", retry: "never" });
  assert.equal((await python(WRITE, [inPlace, poor, rejected])).result, "GatewayError outcome_unknown");
  assert.equal((await python(WRITE, [PREPARED, poor, rejected])).result, "GatewayError invalid_request");
  const contract = refused({ code: "contract_refused", contractError: "DuplicateAuth", retry: "never" }, "422 No");
  assert.equal((await python(WRITE, [...turnedDown, contract])).result, "GatewayError contract_refused");
});

test("write sends an empty intent as an empty Idempotency-Key, which the gateway refuses", { skip }, async () => {
  const refused = json(
    { error: { code: "invalid_request", message: "1 to 255 characters", retry: "never" } },
    "400 No",
  );
  const lines = WRITE.replace(/^result = .*$/m, "") +
    `\nresult = [refusal(lambda: gateway.write({}, Key(), key)) for key in ("", 0, "7")]`;
  const { result, keys } = await python(lines, [refused]);
  assert.deepEqual(result, Array(3).fill("GatewayError invalid_request"));
  assert.deepEqual(keys, [undefined, "0", "7"]);
});

test(
  "write raises outcome_unknown when prepare reports success and the node does not find the transaction",
  { skip },
  async () => {
    const hash = "ab".repeat(32);
    const done = json({ xdr: "AAAA", validUntil: 0, operation: {}, status: "success" });
    for (const retry of ["never", "prepare_again"]) {
      const { result, asked } = await python(WRITE, [done, json({ hash, status: "rejected", retry })]);
      assert.deepEqual([result, asked.length], ["GatewayError outcome_unknown", 2]);
    }
  },
);

test(
  "write passes a warning to on_warning before it signs, and sends nothing when on_warning raises",
  { skip },
  async () => {
    const warned = json({
      xdr: "AAAA",
      validUntil: 99_999_999_999,
      operation: {},
      warning: "the escrow holds something",
    });
    const answers = (asked: string) => asked.includes("/prepare") ? warned : json({ hash: "ab".repeat(32), ledger: 7 });
    const heard = WRITE.replace(
      /result = .*/,
      `heard = []
def refuse(warning): raise ValueError(warning)
result = [refusal(lambda: gateway.write({"kind": "claim"}, Key(), on_warning=refuse))]
result += [gateway.write({"kind": "claim"}, Key(), on_warning=heard.append)["ledger"], heard]
result += [gateway.write({"kind": "claim"}, Key())["ledger"]]`,
    );
    const { result, asked } = await python(heard, [answers]);
    assert.deepEqual(result, ["ValueError", 7, ["the escrow holds something"], 7]);
    const [prepare, submit] = ["prepare", "submit"].map((step) => `POST /v1/transactions/${step} HTTP/1.1`);
    assert.deepEqual(asked, [prepare, prepare, submit, prepare, submit]);
  },
);
