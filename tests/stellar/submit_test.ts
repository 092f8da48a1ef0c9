import {
  Account,
  Address,
  Keypair,
  Memo,
  MuxedAccount,
  nativeToScVal,
  Operation,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createEntryReader } from "../../lib/stellar/entries.ts";
import { createLedgerWait } from "../../lib/stellar/ledger_wait.ts";
import { accountKey } from "../../lib/stellar/prepare.ts";
import { type RpcClient, RpcError, type SendAnswer, type TransactionAnswer } from "../../lib/stellar/rpc.ts";
import { createLedgerTip } from "../../lib/stellar/tip.ts";
import { createTransactions } from "../../lib/stellar/transactions.ts";
import { fakeClock, stubRpc } from "./stub_rpc.ts";

const PASSPHRASE = "Test SDF Network ; September 2015";
const CONTRACT = "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX";
const START_SECONDS = 1_800_000_000;
const source = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(7));
const sponsor = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(8));

interface EnvelopeOptions {
  validForSeconds?: number;
  sequence?: string;
  function?: string;
  signers?: Keypair[];
}

function transaction(options: EnvelopeOptions = {}) {
  const { validForSeconds = 300, sequence = "41", signers = [source] } = options;
  const built = new TransactionBuilder(new Account(source.publicKey(), sequence), {
    fee: "100",
    networkPassphrase: PASSPHRASE,
    timebounds: { minTime: 0, maxTime: START_SECONDS + validForSeconds },
  }).addOperation(Operation.invokeContractFunction({
    contract: CONTRACT,
    function: options.function ?? "claim",
    args: [Address.fromString(CONTRACT).toScVal(), nativeToScVal(1n, { type: "u64" })],
  })).build();
  if (signers.length > 0) built.sign(...signers);
  return built;
}

const hex = (bytes: Uint8Array) => xdr.encodeBytes(bytes, "hex");
const ENVELOPE = transaction().toXdr();
const HASH = hex(transaction().hash());

function txResult(code: "txBadSeq" | "txTooLate" | "txInsufficientFee"): string {
  return new xdr.TransactionResult({
    feeCharged: 100n,
    result: xdr.TransactionResultResult[code](),
    ext: xdr.TransactionResultExt.v0(),
  }).toXdr("base64");
}

function opResult(result: xdr.InvokeHostFunctionResult): string {
  return new xdr.TransactionResult({
    feeCharged: 100n,
    result: xdr.TransactionResultResult.txFailed([
      xdr.OperationResult.opInner(xdr.OperationResultTr.invokeHostFunction(result)),
    ]),
    ext: xdr.TransactionResultExt.v0(),
  }).toXdr("base64");
}

function accountEntry(sequence: bigint): string {
  return xdr.LedgerEntryData.account(
    new xdr.AccountEntry({
      accountId: source.xdrAccountId(),
      balance: 1n,
      seqNum: sequence,
      numSubEntries: 0,
      inflationDest: null,
      flags: 0,
      homeDomain: "",
      thresholds: new Uint8Array([1, 0, 0, 0]),
      signers: [],
      ext: xdr.AccountEntryExt.v0(),
    }),
  ).toXdr("base64");
}

/** A node of which a ledger closes every five seconds; `send` and `find` say what it answers, call by call. */
function harness(script: {
  send?: (call: number) => Partial<SendAnswer> | Error;
  find?: (call: number, ledger: number) => Partial<TransactionAnswer> | Error;
  accountSequence?: (ledger: number) => bigint;
  note?: () => Promise<void>;
}) {
  const clock = fakeClock(START_SECONDS * 1000);
  const tip = createLedgerTip();
  const closeTime = () => START_SECONDS + Math.floor((clock.now() / 1000 - START_SECONDS) / 5) * 5;
  const ledger = () => 100 + (closeTime() - START_SECONDS) / 5;
  const stamp = () => ({ latestLedger: ledger(), latestLedgerCloseTime: closeTime() });
  const order: string[] = [];
  const envelopes: string[] = [];
  let sends = 0;
  let finds = 0;
  const or = <T>(value: T | Error): T => {
    if (value instanceof Error) throw value;
    return value;
  };
  const observed = <T extends { latestLedger: number; latestLedgerCloseTime?: number }>(answer: T): T => {
    tip.observe(answer.latestLedger, answer.latestLedgerCloseTime);
    return answer;
  };
  const methods: Partial<RpcClient> = {
    async sendTransaction(envelope) {
      order.push("send");
      envelopes.push(envelope);
      sends += 1;
      const answer = or(script.send?.(sends) ?? {});
      return await Promise.resolve(observed({ status: "PENDING" as const, hash: HASH, ...stamp(), ...answer }));
    },
    async getTransaction() {
      finds += 1;
      const answer = or(script.find?.(finds, ledger()) ?? {});
      const whole = { status: "NOT_FOUND" as const, oldestLedger: 1, ...stamp(), ...answer };
      return await Promise.resolve(observed(whole));
    },
    async getLatestLedger() {
      tip.observe(ledger(), closeTime());
      return await Promise.resolve({ sequence: ledger(), id: "", protocolVersion: 28, closeTime: closeTime() });
    },
    async getLedgerEntries() {
      const key = accountKey(source.publicKey());
      const entry = { key, xdr: accountEntry(script.accountSequence?.(ledger()) ?? 41n), lastModifiedLedgerSeq: 1 };
      return await Promise.resolve({ latestLedger: ledger(), entries: [entry] });
    },
    getHealth: () => Promise.reject(new RpcError("getHealth", -32603, "no")),
  };
  const rpc = stubRpc(methods);
  const notes = new Map<string, { validUntil: number }>();
  const parts = { rpc, tip, now: clock.now, wait: clock.wait };
  const transactions = createTransactions({
    ...parts,
    entries: createEntryReader(parts),
    ledgers: createLedgerWait(parts),
    calls: { simulate: () => Promise.reject(new Error("not in these tests")) },
    fees: { bid: () => Promise.reject(new Error("not in these tests")) },
    networkPassphrase: PASSPHRASE,
    submitTimeoutMs: 60_000,
    noteSubmission: ({ hash, validUntil }) => {
      order.push("note");
      notes.set(hash, { validUntil });
      return script.note?.() ?? Promise.resolve();
    },
    getSubmission: (hash) => Promise.resolve(notes.get(hash)),
    refuseCall: (call) => call.function === "claim" ? undefined : `must not call ${call.function}`,
    explainSimulation: () => Promise.reject(new Error("not in these tests")),
    explainFailure: (call, failure) =>
      Promise.resolve(new GatewayError("contract_refused", `${call?.function} in ${failure.ledger}`)),
  });
  return { transactions, clock, order, envelopes, notes, sent: () => sends, found: () => finds, calls: rpc.calls };
}

async function fault(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(() => assert.fail("it resolved"), (error) => error);
  assert.ok(error instanceof GatewayError, String(error?.stack ?? error));
  return error;
}

const inLedger = (ledger: number) => (_: number, latest: number): Partial<TransactionAnswer> =>
  latest >= ledger ? { status: "SUCCESS", ledger } : {};

describe("submitting an envelope", () => {
  test("notes it, sends it, and answers when its ledger has closed", async () => {
    const { transactions, order, envelopes, notes, clock } = harness({ find: inLedger(101) });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 101 });
    assert.deepEqual(order, ["note", "send"]);
    assert.deepEqual(envelopes, [ENVELOPE]);
    assert.deepEqual(notes.get(HASH), { validUntil: START_SECONDS + 300 });
    assert.ok(clock.now() < (START_SECONDS + 9) * 1000, "it was late");
  });

  test("asks for its hash only once in a ledger", async () => {
    const { transactions, found } = harness({ find: inLedger(104) });
    await transactions.submit(ENVELOPE);
    assert.equal(found(), 5);
  });

  test("joins those who submit the same envelope meanwhile", async () => {
    const { transactions, sent } = harness({ find: inLedger(101) });
    const all = await Promise.all(Array.from({ length: 10 }, () => transactions.submit(ENVELOPE)));
    assert.equal(sent(), 1);
    assert.deepEqual(new Set(all.map(({ ledger }) => ledger)), new Set([101]));
  });

  test("sends the same envelope again while the network is busy", async () => {
    const { transactions, sent } = harness({
      send: (call) => call < 4 ? { status: "TRY_AGAIN_LATER" } : {},
      find: inLedger(103),
    });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 103 });
    assert.equal(sent(), 4);
  });

  test("an outcome that stays open is 502 with the hash, and where to ask", async () => {
    for (const send of [() => ({}), () => ({ status: "TRY_AGAIN_LATER" as const })]) {
      const { transactions, clock } = harness({ send });
      const error = await fault(transactions.submit(ENVELOPE));
      assert.equal(error.code, "upstream_error");
      assert.ok(error.message.includes(HASH));
      assert.equal(error.headers.Location, `/v1/transactions/${HASH}`);
      assert.ok(clock.now() <= (START_SECONDS + 61) * 1000, `${clock.now() / 1000 - START_SECONDS} s`);
    }
  });

  test("a send whose outcome is unknown is looked for, not taken for a failure", async () => {
    const unknown = [
      new RpcError("sendTransaction", -32603, "could not submit transaction to stellar-core"),
      new GatewayError("upstream_error", "connection reset"),
    ];
    for (const error of unknown) {
      const { transactions } = harness({ send: () => error, find: inLedger(101) });
      assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 101 });
    }
  });

  test("a send that got lost is repeated", async () => {
    let taken = false;
    const { transactions, sent } = harness({
      send: (call) => {
        if (call === 1) return new GatewayError("upstream_error", "connection reset");
        taken = true;
        return {};
      },
      find: (_, ledger) => taken && ledger >= 102 ? { status: "SUCCESS", ledger: 102 } : {},
    });
    assert.equal((await transactions.submit(ENVELOPE)).ledger, 102);
    assert.equal(sent(), 2);
  });

  test("a node that is down ends it long before its time, with the hash", async () => {
    const down = new GatewayError("upstream_error", "connection refused");
    const { transactions, clock } = harness({ send: () => down, find: () => down });
    const error = await fault(transactions.submit(ENVELOPE));
    assert.ok(error.headers.Location?.endsWith(HASH));
    assert.ok(clock.now() < (START_SECONDS + 10) * 1000);
  });

  test("a node that fails once in a while does not end it", async () => {
    const { transactions } = harness({
      find: (call, ledger) =>
        call % 2 === 0 ? new RpcError("getTransaction", -32603, "busy") : inLedger(102)(call, ledger),
    });
    assert.equal((await transactions.submit(ENVELOPE)).ledger, 102);
  });

  test("an envelope that was applied before answers as it did then, though the network calls it txBadSeq", async () => {
    const { transactions } = harness({
      send: () => ({ status: "ERROR", errorResultXdr: txResult("txBadSeq") }),
      find: () => ({ status: "SUCCESS", ledger: 77 }),
      accountSequence: () => 42n,
    });
    assert.deepEqual(await transactions.submit(ENVELOPE), { hash: HASH, ledger: 77 });
  });

  test("txBadSeq on the account's next sequence number is tried for two ledgers", async () => {
    const late = harness({
      send: (call) => call < 3 ? { status: "ERROR", errorResultXdr: txResult("txBadSeq") } : {},
      find: inLedger(103),
    });
    assert.equal((await late.transactions.submit(ENVELOPE)).ledger, 103);
    assert.equal(late.sent(), 3);

    const never = harness({ send: () => ({ status: "ERROR", errorResultXdr: txResult("txBadSeq") }) });
    const error = await fault(never.transactions.submit(ENVELOPE));
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, /txBadSeq/);
    assert.equal(never.sent(), 3);
  });

  test("txBadSeq on any other sequence number is final", async () => {
    const { transactions, sent } = harness({
      send: () => ({ status: "ERROR", errorResultXdr: txResult("txBadSeq") }),
      accountSequence: () => 45n,
    });
    assert.match((await fault(transactions.submit(ENVELOPE))).message, /txBadSeq .*prepare again/);
    assert.equal(sent(), 1);
  });

  test("another rejection is named", async () => {
    const { transactions } = harness({
      send: () => ({ status: "ERROR", errorResultXdr: txResult("txInsufficientFee") }),
    });
    const error = await fault(transactions.submit(ENVELOPE));
    assert.equal(error.code, "invalid_request");
    assert.equal(
      error.message,
      `transaction ${HASH} was rejected: txInsufficientFee (its fee is too low; prepare again)`,
    );
  });

  test("a rejection that cannot be checked leaves the outcome open", async () => {
    const { transactions } = harness({
      send: () => ({ status: "ERROR", errorResultXdr: txResult("txTooLate") }),
      find: () => new RpcError("getTransaction", -32603, "busy"),
    });
    const error = await fault(transactions.submit(ENVELOPE));
    assert.deepEqual([error.code, error.headers.Location], ["upstream_error", `/v1/transactions/${HASH}`]);
  });

  test("a rejection in nonsense is an upstream error, not a crash", async () => {
    const { transactions } = harness({ send: () => ({ status: "ERROR", errorResultXdr: "AAAA" }) });
    assert.equal((await fault(transactions.submit(ENVELOPE))).code, "upstream_error");
  });

  test("what trapped in the ledger is explained, what ran out of its means is to be prepared again", async () => {
    const failed = (result: xdr.InvokeHostFunctionResult) => () => ({
      status: "FAILED" as const,
      ledger: 102,
      resultXdr: opResult(result),
    });
    const trapped = harness({ find: failed(xdr.InvokeHostFunctionResult.invokeHostFunctionTrapped()) });
    const refused = await fault(trapped.transactions.submit(ENVELOPE));
    assert.deepEqual([refused.code, refused.message], ["contract_refused", "claim in 102"]);

    const poor = harness({ find: failed(xdr.InvokeHostFunctionResult.invokeHostFunctionResourceLimitExceeded()) });
    const rejected = await fault(poor.transactions.submit(ENVELOPE));
    assert.equal(rejected.code, "invalid_request");
    assert.match(rejected.message, /failed in ledger 102: invokeHostFunctionResourceLimitExceeded .*prepare again/);
  });

  test("an envelope that no ledger took in before its time bound is txTooLate", async () => {
    const envelope = transaction({ validForSeconds: 12 }).toXdr();
    const { transactions } = harness({});
    const error = await fault(transactions.submit(envelope));
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, /txTooLate/);
  });

  test("an envelope past its time bound is not sent, but asked for: it may have been applied in time", async () => {
    const envelope = transaction({ validForSeconds: -10 }).toXdr();
    const applied = harness({ find: () => ({ status: "SUCCESS", ledger: 60 }) });
    assert.equal((await applied.transactions.submit(envelope)).ledger, 60);
    const dead = harness({});
    assert.match((await fault(dead.transactions.submit(envelope))).message, /txTooLate/);
    assert.equal(applied.sent() + dead.sent(), 0);
  });

  test("a node that does not lag is needed to pronounce it dead", async () => {
    const { transactions, calls } = harness({
      find: (call) =>
        call === 1 ? { latestLedger: 50, latestLedgerCloseTime: START_SECONDS - 250 } : inLedger(101)(call, 101),
    });
    assert.equal((await transactions.submit(ENVELOPE)).ledger, 101);
    assert.ok(calls.length < 10, calls.join());
  });

  test("an envelope whose note cannot be written is not sent", async () => {
    const { transactions, sent } = harness({ note: () => Promise.reject(new Error("disk is full")) });
    await assert.rejects(transactions.submit(ENVELOPE), /disk is full/);
    assert.equal(sent(), 0);
  });
});

describe("what became of a transaction", () => {
  const NOTE = { hash: HASH, validUntil: START_SECONDS + 300 };

  test("is pending until a ledger has closed after its time bound, then txTooLate", async () => {
    const { transactions, notes, clock } = harness({});
    notes.set(HASH, NOTE);
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "pending" });
    clock.pass(300_000);
    assert.deepEqual(await transactions.status(HASH), { hash: HASH, status: "pending" });
    clock.pass(5_000);
    const { status, error } = await transactions.status(HASH);
    assert.equal(status, "failed");
    assert.match(error!, /txTooLate/);
  });

  test("is not guessed for one that is older than what the node holds", async () => {
    const { transactions, notes } = harness({
      find: () => ({ latestLedgerCloseTime: START_SECONDS + 900_000, oldestLedgerCloseTime: START_SECONDS + 301 }),
    });
    notes.set(HASH, NOTE);
    const error = await fault(transactions.status(HASH));
    assert.equal(error.code, "not_found");
    assert.match(error.message, /older than what the RPC node holds/);
  });

  test("is not found where nobody knows it", async () => {
    assert.equal((await fault(harness({}).transactions.status(HASH))).code, "not_found");
  });

  test("is not believed from a node that lags", async () => {
    const { transactions } = harness({
      find: (call) => call === 2 ? { latestLedger: 3, latestLedgerCloseTime: 1 } : { status: "SUCCESS", ledger: 90 },
    });
    await transactions.status(HASH);
    assert.equal((await transactions.status(HASH)).status, "success");
  });
});

describe("what may be submitted", () => {
  const { transactions } = harness({ find: inLedger(100) });
  const built = transaction();
  const bump = (inner: ReturnType<typeof transaction>) =>
    TransactionBuilder.buildFeeBumpTransaction(sponsor, "200", inner, PASSPHRASE);
  const operation = Operation.bumpSequence({ bumpTo: "1" });
  const classic = new TransactionBuilder(new Account(source.publicKey(), "41"), {
    fee: "100",
    networkPassphrase: PASSPHRASE,
    timebounds: { minTime: 0, maxTime: START_SECONDS + 300 },
  }).addOperation(operation).build();
  classic.sign(source);
  const twice = TransactionBuilder.cloneFrom(built).addOperation(operation).build();
  twice.sign(source);

  const noted = TransactionBuilder.cloneFrom(built, { memo: Memo.text("order 7") }).build();
  noted.sign(source);
  const muxed = new TransactionBuilder(new MuxedAccount(new Account(source.publicKey(), "41"), "7"), {
    fee: "100",
    networkPassphrase: PASSPHRASE,
    timebounds: { minTime: 0, maxTime: START_SECONDS + 300 },
  }).addOperation(Operation.invokeContractFunction({ contract: CONTRACT, function: "claim", args: [] })).build();
  muxed.sign(source);

  const cases: [string, string, RegExp][] = [
    ["what is no XDR", "not xdr", /is not a base64 transaction envelope/],
    ["an envelope cut short", built.toXdr().slice(0, -8), /is not a base64 transaction envelope/],
    ["an unsigned envelope", transaction({ signers: [] }).toXdr(), /is not signed/],
    ["an unsigned fee bump", bump(built).toXdr(), /the fee bump carries no signature/],
    ["another operation than an invocation", classic.toXdr(), /must invoke a contract, got the operation bumpSequence/],
    ["two operations", twice.toXdr(), /exactly one operation, got 2/],
    ["a call that is not allowed", transaction({ function: "drain" }).toXdr(), /must not call drain/],
    ["an invocation with a memo", noted.toXdr(), /must have no memo/],
    ["a muxed source", muxed.toXdr(), /must have a G… source/],
    ["no upper time bound", transaction({ validForSeconds: -START_SECONDS }).toXdr(), /must have an upper time bound/],
    ["one more than an hour away", transaction({ validForSeconds: 3_601 }).toXdr(), /at most an hour from now/],
  ];
  for (const [name, envelope, words] of cases) {
    test(`not ${name}`, async () => {
      const error = await fault(transactions.submit(envelope));
      assert.equal(error.code, "invalid_request");
      assert.match(error.message, words);
    });
  }

  test("and nothing that is no envelope gets past, whatever it is", async () => {
    const bytes = xdr.decodeBytes(built.toXdr(), "base64");
    const mutated = fc.tuple(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 })).map(([at, by]) => {
      const copy = bytes.slice();
      copy[at] = copy[at]! ^ by;
      return xdr.encodeBytes(copy, "base64");
    });
    const random = fc.uint8Array({ maxLength: 200 }).map((some) => xdr.encodeBytes(some, "base64"));
    await fc.assert(
      fc.asyncProperty(fc.oneof(mutated, random, fc.string()), async (envelope) => {
        const error = await harness({ find: inLedger(100) }).transactions.submit(envelope).catch((error) => error);
        assert.ok(error.ledger === 100 || error.code === "invalid_request", String(error.stack ?? error));
      }),
      { numRuns: 500 },
    );
  });

  test("in a fee bump the inner transaction is vetted and the outer hash answered", async () => {
    const signed = (inner: ReturnType<typeof transaction>) => {
      const outer = bump(inner);
      outer.sign(sponsor);
      return outer;
    };
    const refused = signed(transaction({ function: "drain" }));
    assert.match((await fault(transactions.submit(refused.toXdr()))).message, /must not call drain/);
    const outer = signed(built);
    const own = harness({ find: inLedger(100) });
    assert.deepEqual(await own.transactions.submit(outer.toXdr()), { hash: hex(outer.hash()), ledger: 100 });
    assert.deepEqual(own.envelopes, [outer.toXdr()]);
  });
});
