// needs: once
import { strict as assert } from "node:assert";
import { test } from "node:test";
import { Asset, Contract, Keypair, nativeToScVal, Operation, TransactionBuilder, type xdr } from "@stellar/stellar-sdk";
import fc from "fast-check";
import { sandboxRpcOfFile } from "./sandbox_rpc.ts";
import { forTier } from "../../tier.ts";

const METHODS = (
  "getHealth getNetwork getVersionInfo getLatestLedger getLedgers getFeeStats getLedgerEntries simulateTransaction " +
  "sendTransaction getTransaction getTransactions getEvents"
).split(" ");

const sandbox = sandboxRpcOfFile();

/** Values, some of which are valid params. */
const value: fc.Arbitrary<unknown> = fc.oneof(
  { maxDepth: 3 },
  fc.jsonValue({ maxDepth: 2 }),
  fc.nat(20),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => bytes.toBase64()),
  fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 64, maxLength: 64 }),
  fc.constantFrom("*", "**", "0000000004294971392-0000000000", "contract", "base64", "enforce"),
);
const params = fc.record(
  {
    hash: value,
    transaction: value,
    keys: fc.oneof(value, fc.array(value)),
    startLedger: value,
    endLedger: value,
    filters: fc.oneof(
      value,
      fc.array(
        fc.record({ type: value, contractIds: fc.array(value), topics: fc.array(fc.array(value)) }, {
          requiredKeys: [],
        }),
      ),
    ),
    pagination: fc.oneof(value, fc.record({ cursor: value, limit: value }, { requiredKeys: [] })),
    xdrFormat: value,
    authMode: value,
    useUpgradedAuth: value,
    resourceConfig: fc.oneof(value, fc.record({ instructionLeeway: value })),
  },
  { requiredKeys: [] },
);

/** The real node reports a request without keys as an internal error. */
const asksForNothing = (method: string, args: unknown) =>
  method === "getLedgerEntries" && ((args as { keys?: unknown[] } | null)?.keys ?? []).length === 0;

test("every method returns a result or a JSON-RPC error of the client for any params", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS), fc.oneof(params, value), async (method, args) => {
      const { result, error } = await sandbox.call(method, args);
      const codes = asksForNothing(method, args) ? [-32600, -32602, -32603] : [-32600, -32602];
      if (error) assert.ok(codes.includes(error.code), `${error.code} ${error.message}`);
      else assert.equal(typeof result, "object");
    }),
    { numRuns: forTier({ test: 100, all: 400 }) },
  );
});

test("simulation and submission return a result for any bytes and any damaged envelope, and ledgers close", async () => {
  const payer = Keypair.random();
  const source = await sandbox.rpc.requestAirdrop(payer.publicKey());
  const build = (operation: xdr.Operation) => {
    const builder = new TransactionBuilder(source, { fee: "1000", networkPassphrase: sandbox.network.passphrase });
    const transaction = builder.addOperation(operation).setTimeout(60).build();
    transaction.sign(payer);
    return Uint8Array.fromBase64(transaction.toXdr());
  };
  const native = new Contract(Asset.native().contractId(sandbox.network.passphrase));
  const envelopes = [
    build(Operation.payment({ destination: payer.publicKey(), asset: Asset.native(), amount: "1" })),
    build(native.call("transfer", nativeToScVal(payer.publicKey()), nativeToScVal(1n, { type: "i128" }))),
    build(Operation.createStellarAssetContract({ asset: Asset.native() })),
    build(Operation.extendFootprintTtl({ extendTo: 1000 })),
  ];
  const damage = fc.record({ at: fc.nat(), byte: fc.nat(255) });
  const damaged = fc.tuple(fc.constantFrom(...envelopes), fc.array(damage, { maxLength: 3 })).map(
    ([bytes, damages]) => {
      const copy = bytes.slice();
      for (const { at, byte } of damages) copy[at % copy.length] = byte;
      return copy.toBase64();
    },
  );
  const bytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => bytes.toBase64());
  await fc.assert(
    fc.asyncProperty(fc.oneof({ weight: 3, arbitrary: damaged }, bytes), async (transaction) => {
      const simulation = await sandbox.call("simulateTransaction", { transaction });
      assert.equal(simulation.error, undefined);
      const sent = await sandbox.call("sendTransaction", { transaction });
      if (sent.error) assert.deepEqual(sent.error, { code: -32602, message: "invalid_xdr" });
      else assert.match(sent.result.status, /^(PENDING|DUPLICATE|TRY_AGAIN_LATER|ERROR)$/);
      const { sequence } = sandbox.network.latestLedger();
      assert.equal(sandbox.network.closeLedger().sequence, sequence + 1);
    }),
    { numRuns: forTier({ test: 100, all: 400 }) },
  );
});
