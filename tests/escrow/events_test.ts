// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Address, xdr } from "@stellar/stellar-sdk";
import * as fc from "fast-check";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import { CONTRACT_EVENT_TYPES, decodeEvent } from "../../lib/escrow/events.ts";
import { i128 } from "../sandbox/sandbox_network.ts";

const CONTRACTS: ContractIds = {
  deviceRegistry: "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA",
  agentRegistry: "CBTDMJVCFQDIVWZBKAKZ2FQ3UEJNAAUFYCTJ3E4ON2MYXPLPSIXQ25JZ",
  paymentEscrow: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
};
const { deviceRegistry, agentRegistry, paymentEscrow } = CONTRACTS;
const HASH = new Uint8Array(32).map((_, i) => i * 7);
const DEVICE = "00070e151c232a31383f464d545b626970777e858c939aa1a8afb6bdc4cbd2d9";
const AGENT = "GBZH7S5NC57XNHKHJ75C5DGMI3SP6ZFJLIKW74K6OSMA5E5DFMYBDD2Z";

const symbol = (name: string) => xdr.ScVal.scvSymbol(name);
const bytes = (value: Uint8Array) => xdr.ScVal.scvBytes(value);
const address = (value: string) => Address.fromString(value).toScVal();
const emptyMap = xdr.ScVal.scvMap([]);
const unit = xdr.ScVal.scvVoid();

function decode(contractId: string, topics: xdr.ScVal[], value: xdr.ScVal) {
  const topic = topics.map((topic) => topic.toXdr("base64"));
  return decodeEvent({ contractId, topic, value: value.toXdr("base64") }, CONTRACTS);
}

const device = bytes(HASH);
const agent = address(AGENT);
const NINE: [string, xdr.ScVal[], xdr.ScVal, object][] = [
  [deviceRegistry, [symbol("register"), device], agent, {
    type: "device.registered",
    deviceHash: DEVICE,
    agent: AGENT,
  }],
  [deviceRegistry, [symbol("revoke"), device], emptyMap, { type: "device.revoked", deviceHash: DEVICE }],
  [agentRegistry, [symbol("agent_reg"), device], agent, { type: "agent.registered", deviceHash: DEVICE, agent: AGENT }],
  [agentRegistry, [symbol("agent_rev"), device], emptyMap, { type: "agent.revoked", deviceHash: DEVICE }],
  [paymentEscrow, [symbol("fund"), device], i128(5n), { type: "escrow.funded", deviceHash: DEVICE, amount: "5" }],
  [paymentEscrow, [symbol("defund"), device], i128(5n), { type: "escrow.defunded", deviceHash: DEVICE, amount: "5" }],
  [paymentEscrow, [symbol("sweep"), device], i128(5n), { type: "escrow.swept", deviceHash: DEVICE, amount: "5" }],
  [paymentEscrow, [symbol("authorize"), device, agent], i128(5n), {
    type: "payment.authorized",
    deviceHash: DEVICE,
    merchant: AGENT,
    amount: "5",
  }],
  [paymentEscrow, [symbol("claim"), agent], i128(5n), { type: "payment.claimed", merchant: AGENT, amount: "5" }],
];

describe("an event of the contracts", () => {
  for (const [contract, topics, value, expected] of NINE) {
    const { type } = expected as { type: string };
    test(`${type} is decoded`, () => assert.deepEqual(decode(contract, topics, value), expected));

    test(`${type} from any other contract is not`, () => {
      const other = contract === paymentEscrow ? agentRegistry : paymentEscrow;
      assert.equal(decode(other, topics, value), undefined);
      assert.equal(decode("CCJZ5DGASBWQXR5MPFCJXMBI333XE5U3FSJTNQU7RIKE3P5GN2K2WYD5", topics, value), undefined);
    });

    test(`${type} with a topic too many, one too few or other data is not`, () => {
      assert.equal(decode(contract, [...topics, device], value), undefined);
      assert.equal(decode(contract, topics.slice(0, -1), value), undefined);
      assert.equal(decode(contract, topics, xdr.ScVal.scvString("5")), undefined);
      assert.equal(decode(contract, topics, xdr.ScVal.scvVec([value])), undefined);
    });
  }

  test("each of the nine types is tested", () => {
    assert.deepEqual(NINE.map(([, , , expected]) => (expected as { type: string }).type), [...CONTRACT_EVENT_TYPES]);
  });

  test("authorize of the older deployment, with a tuple as its topics, is decoded alike", () => {
    const expected = { type: "payment.authorized", deviceHash: DEVICE, merchant: AGENT, amount: "9" };
    assert.deepEqual(
      decode(paymentEscrow, [symbol("authorize"), xdr.ScVal.scvVec([device, agent])], i128(9n)),
      expected,
    );
    const short = xdr.ScVal.scvVec([device]);
    assert.equal(decode(paymentEscrow, [symbol("authorize"), short], i128(9n)), undefined);
  });

  test("revoke and agent_rev of the older deployment, with void data, are decoded alike", () => {
    const revoked = { type: "device.revoked", deviceHash: DEVICE };
    assert.deepEqual(decode(deviceRegistry, [symbol("revoke"), device], unit), revoked);
    const agentRevoked = { type: "agent.revoked", deviceHash: DEVICE };
    assert.deepEqual(decode(agentRegistry, [symbol("agent_rev"), device], unit), agentRevoked);
  });

  test("amounts are exact over the whole range of i128", () => {
    fc.assert(fc.property(fc.bigInt({ min: -(2n ** 127n), max: 2n ** 127n - 1n }), (amount) => {
      assert.equal(decode(paymentEscrow, [symbol("fund"), device], i128(amount))?.amount, String(amount));
    }));
  });

  test("a merchant may be a contract", () => {
    const decoded = decode(paymentEscrow, [symbol("claim"), address(deviceRegistry)], i128(1n));
    assert.equal(decoded?.merchant, deviceRegistry);
  });

  test("a device hash of another length is not decoded", () => {
    for (const length of [0, 31, 33]) {
      assert.equal(decode(paymentEscrow, [symbol("fund"), bytes(new Uint8Array(length))], i128(1n)), undefined);
    }
  });

  test("an unknown symbol, a name that is a string and no topics at all are not decoded", () => {
    assert.equal(decode(paymentEscrow, [symbol("refund"), device], i128(1n)), undefined);
    assert.equal(decode(paymentEscrow, [xdr.ScVal.scvString("fund"), device], i128(1n)), undefined);
    assert.equal(decode(paymentEscrow, [], i128(1n)), undefined);
  });

  test("garbage is not decoded and never throws", () => {
    const fund = [symbol("fund"), device].map((topic) => topic.toXdr("base64"));
    const garbage = fc.oneof(
      fc.string(),
      fc.base64String(),
      fc.uint8Array().map((b) => btoa(String.fromCharCode(...b))),
    );
    fc.assert(fc.property(fc.array(garbage), garbage, (topic, value) => {
      assert.equal(decodeEvent({ contractId: paymentEscrow, topic, value }, CONTRACTS), undefined);
      const decoded = decodeEvent({ contractId: paymentEscrow, topic: fund, value }, CONTRACTS);
      assert.ok(decoded === undefined || /^-?\d+$/.test(decoded.amount!));
    }));
    const nothing = { contractId: paymentEscrow } as unknown as Parameters<typeof decodeEvent>[0];
    assert.equal(decodeEvent(nothing, CONTRACTS), undefined);
  });
});
