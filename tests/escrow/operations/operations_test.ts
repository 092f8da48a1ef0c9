// needs: neutral
import { scValToNative, StrKey } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { OPERATION_KINDS } from "../../../lib/escrow/contracts/interfaces.ts";
import {
  contractCall,
  type Operation,
  operation,
  type PreparedOperation,
  preparedOperation,
  refuseCall,
} from "../../../lib/escrow/operations/operations.ts";
import * as values from "../../../lib/escrow/values.ts";

const CARD = "ab".repeat(32);
const SOURCE = "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF";
const OTHER = StrKey.encodeEd25519PublicKey(new Uint8Array(32).fill(1));
const ASSET = StrKey.encodeContract(new Uint8Array(32).fill(2));
const contracts = {
  deviceRegistry: "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA",
  agentRegistry: "CBTDMJVCFQDIVWZBKAKZ2FQ3UEJNAAUFYCTJ3E4ON2MYXPLPSIXQ25JZ",
  paymentEscrow: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
};
const MOST = "170141183460469231731687303715884105727";

describe("an operation becomes a contract call", () => {
  // The order of the arguments is the contracts': calls are positional.
  const calls: [PreparedOperation, keyof typeof contracts, string, unknown[]][] = [
    [
      {
        kind: "authorize",
        deviceHash: CARD,
        merchant: OTHER,
        asset: ASSET,
        amount: MOST,
        nonce: "18446744073709551615",
      },
      "paymentEscrow",
      "authorize",
      [SOURCE, CARD, OTHER, ASSET, BigInt(MOST), 18446744073709551615n],
    ],
    [{ kind: "claim", asset: ASSET }, "paymentEscrow", "claim", [ASSET, SOURCE]],
    [
      { kind: "registerAgent", deviceHash: CARD, agent: OTHER, asset: ASSET, maxAmount: "0", expiresAt: null },
      "agentRegistry",
      "register_agent",
      [SOURCE, CARD, OTHER, 0n, ASSET, 0n],
    ],
    [
      { kind: "registerAgent", deviceHash: CARD, agent: OTHER, asset: ASSET, maxAmount: "7", expiresAt: 1_900_000_000 },
      "agentRegistry",
      "register_agent",
      [SOURCE, CARD, OTHER, 7n, ASSET, 1_900_000_000n],
    ],
    [{ kind: "revokeAgent", deviceHash: CARD }, "agentRegistry", "revoke_agent", [SOURCE, CARD]],
    [
      { kind: "fundEscrow", deviceHash: CARD, asset: ASSET, amount: "5" },
      "paymentEscrow",
      "fund_escrow",
      [ASSET, SOURCE, CARD, 5n],
    ],
    [
      { kind: "defundEscrow", deviceHash: CARD, asset: ASSET, amount: "5" },
      "paymentEscrow",
      "defund_escrow",
      [ASSET, CARD, 5n],
    ],
    [{ kind: "registerDevice", deviceHash: CARD, agent: OTHER }, "deviceRegistry", "register", [SOURCE, CARD, OTHER]],
    [{ kind: "revokeDevice", deviceHash: CARD }, "deviceRegistry", "revoke", [SOURCE, CARD]],
    [
      { kind: "sweepEscrow", deviceHash: CARD, asset: ASSET, agent: OTHER },
      "paymentEscrow",
      "sweep_on_revoke",
      [ASSET, CARD, OTHER],
    ],
  ];
  for (const [asked, contract, name, args] of calls) {
    test(`${asked.kind} calls ${name}`, () => {
      assert.deepEqual(preparedOperation.parse(asked), asked);
      const call = contractCall(contracts, SOURCE, asked);
      assert.deepEqual([call.contract, call.function], [contracts[contract], name]);
      const native = call.args.map((arg) => {
        const value = scValToNative(arg);
        return value instanceof Uint8Array ? Array.from(value, (b) => b.toString(16).padStart(2, "0")).join("") : value;
      });
      assert.deepEqual(native, args);
      assert.equal(refuseCall(contracts, call), undefined);
    });
  }

  test("every kind is tested", () => {
    assert.deepEqual(new Set(calls.map(([{ kind }]) => kind)), new Set(OPERATION_KINDS));
  });

  test("no other call may be submitted", () => {
    const args: [] = [];
    const drain = { contract: contracts.paymentEscrow, function: "initialize", args };
    assert.equal(
      refuseCall(contracts, drain),
      'must call one of authorize, claim, fund_escrow, defund_escrow, sweep_on_revoke of payment_escrow, got "initialize"',
    );
    assert.match(
      refuseCall(contracts, { contract: contracts.deviceRegistry, function: "claim", args })!,
      /register, revoke/,
    );
    assert.match(
      refuseCall(contracts, { contract: ASSET, function: "claim", args })!,
      /one of the gateway's contracts/,
    );
  });
});

describe("an operation in a request", () => {
  const authorize = { kind: "authorize", deviceHash: CARD, merchant: OTHER, asset: ASSET, amount: "1" };
  const wrong: [string, unknown, string][] = [
    ["no operation at all", null, ": must be an object with a kind"],
    ["no kind", {}, /kind: must be one of authorize, claim, .*sweepEscrow$/.source],
    ["an unknown kind", { kind: "steal" }, 'kind: must be one of .*; got "steal"'],
    ["a missing field", { kind: "claim" }, "asset: must be a contract id"],
    ["an unknown field", { ...authorize, note: "x" }, ": .*note"],
    ["an amount that is a number", { ...authorize, amount: 1 }, "amount: must be a decimal string .*; got a number"],
    ["a nonce of zero", { ...authorize, nonce: "0" }, "nonce: must be a decimal string between 1 and"],
    ["a contract for a merchant", { ...authorize, merchant: ASSET }, "merchant: must be an account address"],
    ["an account for an asset", { ...authorize, asset: OTHER }, "asset: must be a contract id"],
    [
      "an end of zero, which means never in the contract",
      { kind: "registerAgent", deviceHash: CARD, agent: OTHER, asset: ASSET, maxAmount: "0", expiresAt: 0 },
      "expiresAt: must be whole Unix seconds between 1 and .*, or null for never; got 0",
    ],
    [
      "an end in milliseconds",
      {
        kind: "registerAgent",
        deviceHash: CARD,
        agent: OTHER,
        asset: ASSET,
        maxAmount: "0",
        expiresAt: 1_900_000_000_123,
      },
      "expiresAt: must be whole Unix seconds .*; got 1900000000123: as milliseconds that is 1900000000 s$",
    ],
  ];
  for (const [name, asked, words] of wrong) {
    test(`refuses ${name}`, () => {
      const { success, error } = operation.safeParse(asked);
      assert.equal(success, false);
      const issue = error!.issues[0]!;
      assert.match(`${issue.path.join(".")}: ${issue.message}`, new RegExp(`^${words}`));
    });
  }

  test("lower-cases the device hash, and leaves fields empty that the gateway fills in", () => {
    const asked = operation.parse({ ...authorize, deviceHash: CARD.toUpperCase() }) as Operation & { nonce?: string };
    assert.equal("deviceHash" in asked && asked.deviceHash, CARD);
    assert.equal(asked.nonce, undefined);
    assert.equal(operation.parse({ ...authorize, nonce: "7" }).kind, "authorize");
  });
});

describe("values", () => {
  const takes = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
    schema.safeParse(value).success;

  test("an amount is a decimal string from 1 to 2^127 - 1", () => {
    for (const right of ["1", "10", MOST]) assert.ok(takes(values.amount, right), right);
    const wrong = [
      "0",
      "00",
      "01",
      "-1",
      "+1",
      "1.0",
      "1e3",
      " 1",
      "1 ",
      "",
      "0x1",
      "１",
      "170141183460469231731687303715884105728",
      "9".repeat(60),
      1,
      1n,
      null,
      undefined,
      {},
      ["1"],
    ];
    for (const value of wrong) assert.ok(!takes(values.amount, value), String(value));
  });

  test("a cap may be zero, which means no limit", () => {
    assert.ok(takes(values.maxAmount, "0"));
    assert.ok(!takes(values.maxAmount, "00"));
    assert.ok(!takes(values.maxAmount, "-1"));
  });

  test("addresses are checked by kind and checksum", () => {
    assert.ok(takes(values.accountAddress, OTHER));
    assert.ok(!takes(values.accountAddress, ASSET));
    assert.ok(takes(values.contractId, ASSET));
    assert.ok(!takes(values.contractId, OTHER));
    assert.ok(takes(values.address, OTHER) && takes(values.address, ASSET));
    for (const schema of [values.accountAddress, values.contractId, values.address]) {
      for (const good of [OTHER, ASSET]) {
        const broken = good.slice(0, -1) + (good.endsWith("A") ? "B" : "A");
        assert.ok(!takes(schema, broken));
        assert.ok(!takes(schema, good.toLowerCase()));
        assert.ok(!takes(schema, `${good} `));
      }
      assert.ok(!takes(schema, "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK"));
    }
  });

  test("a secret key is refused without being repeated", () => {
    const secret = "SCZANGBA5YHTNYVVV4C3U252E2B6P6F5T3U6MM63WBSBZATAQI3EBTQ4";
    const { error } = values.accountAddress.safeParse(secret);
    assert.match(error!.issues[0]!.message, /got a secret key, which must never be sent/);
    assert.ok(!error!.issues[0]!.message.includes(secret.slice(0, 10)));
  });

  test("a long value is cut in a message", () => {
    const { error } = values.amount.safeParse("x".repeat(10_000));
    assert.ok(error!.issues[0]!.message.length < 250);
  });
});
