// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, json, python, skip } from "./client_py_stage.ts";

/** A write with an envelope of no meaning: this machine may have no stellar-sdk. */
const WRITE = `class Envelope:
    signatures = []
    def sign(self, _key): self.signatures = [1]
    def hash_hex(self): return "ab" * 32
    def to_xdr(self): return "AAAA"
class Key:
    public_key = "G"
client.checked_envelope = lambda *_: Envelope()
told = refusal(lambda: gateway.write({"kind": "claim"}, Key()))`;
const PREPARED = json({ xdr: "AAAA", validUntil: 99_999_999_999, operation: {} });

test("a write whose answer breaks off goes on until it is known what came of it", { skip }, async () => {
  const { told, asked } = await python(
    WRITE,
    [PREPARED, cut(json({ hash: "ab".repeat(32), ledger: 9 })), json({ hash: "ab".repeat(32), ledger: 9 })],
  );
  assert.deepEqual(told, { hash: "ab".repeat(32), ledger: 9 }, JSON.stringify(asked));
});

test("a write is not confirmed, nor failed, by what else answers with 200", { skip }, async () => {
  const made = { hash: "ab".repeat(32), ledger: 9 };
  for (const others of [[{ status: "ok" }, { status: "success", ledger: 7 }], [[], { status: "failed" }], ["no", []]]) {
    const { told } = await python(WRITE, [PREPARED, ...others.map((other) => json(other)), json(made)]);
    assert.deepEqual(told, made);
  }
});

test("a key that ends in the middle of a write leaves its outcome unknown, and does not say that nothing happened", {
  skip,
}, async () => {
  const refused = json(
    { error: { code: "unauthorized", message: "the API key has expired", retry: "never" } },
    "401 Unauthorized",
  );
  const { told } = await python(
    WRITE,
    [
      PREPARED,
      // The first submit reaches the network, its answer does not come back.
      "",
      refused,
    ],
  );
  assert.equal(told, "GatewayError outcome_unknown");
});

test("a write that failed, and whose submits are not answered, fails as the transaction did", { skip }, async () => {
  const away = json({ error: { code: "upstream_error", message: "no node", retry: "same" } }, "502 Bad Gateway");
  const status = {
    hash: "ab".repeat(32),
    status: "failed",
    error: "no such card",
    contractError: "NotFound",
    retry: "never",
  };
  const { told } = await python(`gateway.patience = 0\n${WRITE}`, [PREPARED, away, json(status)]);
  assert.equal(told, "GatewayError contract_refused");
});

test("who was told of an envelope that was turned down is not told that the payment failed, while it may be applied", {
  skip,
}, async () => {
  const refused = (fields: object, status: string) => json({ error: { message: "no", ...fields } }, status);
  const turnedDown = [
    PREPARED,
    refused({ code: "invalid_request", transactionError: "txBadSeq", retry: "prepare_again" }, "400 Bad Request"),
    json({ hash: "ab".repeat(32), status: "rejected", retry: "prepare_again" }),
  ];
  const ended = refused({ code: "unauthorized", retry: "never" }, "401 Unauthorized");
  assert.equal((await python(WRITE, [...turnedDown, ended])).told, "GatewayError outcome_unknown");
  // Nor who uses the key again, and is refused what is handed out in its place.
  const inPlace = json({ xdr: "AAAA", validUntil: 99_999_999_999, operation: {}, replaces: "cd".repeat(32) });
  const poor = refused(
    { code: "invalid_request", transactionError: "txInsufficientBalance", retry: "never" },
    "400 No",
  );
  const rejected = json({ hash: "ab".repeat(32), status: "rejected", retry: "never" });
  assert.equal((await python(WRITE, [inPlace, poor, rejected])).told, "GatewayError outcome_unknown");
  assert.equal((await python(WRITE, [PREPARED, poor, rejected])).told, "GatewayError invalid_request");
  const contract = refused({ code: "contract_refused", contractError: "DuplicateAuth", retry: "never" }, "422 No");
  assert.equal((await python(WRITE, [...turnedDown, contract])).told, "GatewayError contract_refused");
});

test("a key that is empty is no other intent each time: the gateway refuses it", { skip }, async () => {
  const refused = json(
    { error: { code: "invalid_request", message: "1 to 255 characters", retry: "never" } },
    "400 No",
  );
  const lines = WRITE.replace(/^told = .*$/m, "") +
    `\ntold = [refusal(lambda: gateway.write({}, Key(), key)) for key in ("", 0, "7")]`;
  const { told, keys } = await python(lines, [refused]);
  assert.deepEqual(told, Array(3).fill("GatewayError invalid_request"));
  assert.deepEqual(keys, [undefined, "0", "7"]);
});

test("what prepare calls applied has not failed because a node does not find it", { skip }, async () => {
  const hash = "ab".repeat(32);
  const done = json({ xdr: "AAAA", validUntil: 0, operation: {}, status: "success" });
  for (const retry of ["never", "prepare_again"]) {
    const { told, asked } = await python(WRITE, [done, json({ hash, status: "rejected", retry })]);
    assert.deepEqual([told, asked.length], ["GatewayError outcome_unknown", 2]);
  }
});

test(
  "who writes is told of what cannot be undone before it is signed, and what he raises then sends nothing",
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
      /told = .*/,
      `heard = []
def refuse(warning): raise ValueError(warning)
told = [refusal(lambda: gateway.write({"kind": "claim"}, Key(), on_warning=refuse))]
told += [gateway.write({"kind": "claim"}, Key(), on_warning=heard.append)["ledger"], heard]
told += [gateway.write({"kind": "claim"}, Key())["ledger"]]`,
    );
    const { told, asked } = await python(heard, [answers]);
    assert.deepEqual(told, ["ValueError", 7, ["the escrow holds something"], 7]);
    const [prepare, submit] = ["prepare", "submit"].map((step) => `POST /v1/transactions/${step} HTTP/1.1`);
    assert.deepEqual(asked, [prepare, prepare, submit, prepare, submit]);
  },
);
