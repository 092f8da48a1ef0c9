// needs: neutral
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import { nativeToScVal, StrKey, xdr } from "@stellar/stellar-sdk";
import type { NetworkEvent } from "../../../lib/sandbox/network_types.ts";
import { readEventFilters } from "../../../lib/sandbox/rpc/event_filter.ts";

const CONTRACT_A = StrKey.encodeContract(new Uint8Array(32).fill(1));
const CONTRACT_B = StrKey.encodeContract(new Uint8Array(32).fill(2));

const symbol = (text: string) => xdr.ScVal.scvSymbol(text);
const base64 = (value: xdr.ScVal) => value.toXdr("base64");
const FUND = base64(symbol("fund"));
const CLAIM = base64(symbol("claim"));
const ONE = base64(nativeToScVal(1n, { type: "u64" }));

function event(fields: { type?: "contract" | "system"; contractId?: string; topics?: xdr.ScVal[] } = {}): NetworkEvent {
  return {
    type: fields.type ?? "contract",
    ledger: 5,
    closeTime: 0,
    contractId: fields.contractId ?? CONTRACT_A,
    id: "0000000021474840576-0000000000",
    operationIndex: 0,
    transactionIndex: 1,
    txHash: "00".repeat(32),
    inSuccessfulContractCall: true,
    topicsXdr: (fields.topics ?? [symbol("fund"), nativeToScVal(1n, { type: "u64" })]).map((topic) => topic.toXdr()),
    valueXdr: new Uint8Array(),
  };
}

function matches(filter: unknown, of: NetworkEvent = event()): boolean {
  return readEventFilters({ filters: [filter] })(of);
}

describe("event filters match", () => {
  test("everything when there are none, or an empty one", () => {
    assert.equal(readEventFilters({})(event()), true);
    assert.equal(readEventFilters({ filters: null })(event()), true);
    assert.equal(matches({}), true);
    assert.equal(matches({ type: null, contractIds: null, topics: null }), true);
  });

  test("by type, one or several", () => {
    assert.equal(matches({ type: "contract" }), true);
    assert.equal(matches({ type: "system" }), false);
    assert.equal(matches({ type: "system,contract" }), true);
    assert.equal(matches({ type: "" }), true);
    assert.equal(matches({ type: "system" }, event({ type: "system" })), true);
  });

  test("by any of the contract ids", () => {
    assert.equal(matches({ contractIds: [CONTRACT_B, CONTRACT_A] }), true);
    assert.equal(matches({ contractIds: [CONTRACT_B] }), false);
    assert.equal(matches({ contractIds: [CONTRACT_B] }, event({ contractId: "" })), false);
    assert.equal(matches({ contractIds: [] }), true);
  });

  test("by topics: exact segments, * for one, ** for any rest", () => {
    assert.equal(matches({ topics: [[FUND, ONE]] }), true);
    assert.equal(matches({ topics: [[FUND, "*"]] }), true);
    assert.equal(matches({ topics: [["*", "*"]] }), true);
    assert.equal(matches({ topics: [[FUND]] }), false);
    assert.equal(matches({ topics: [["*", "*", "*"]] }), false);
    assert.equal(matches({ topics: [[CLAIM, "*"]] }), false);
    assert.equal(matches({ topics: [[FUND, "**"]] }), true);
    assert.equal(matches({ topics: [["**"]] }), true);
    assert.equal(matches({ topics: [[FUND, ONE, "**"]] }), true);
    assert.equal(matches({ topics: [[FUND, ONE, "*", "**"]] }), false);
    assert.equal(matches({ topics: [["**"]] }, event({ topics: [] })), true);
  });

  test("where any topic filter and any filter does, and all parts of one filter do", () => {
    assert.equal(matches({ topics: [[CLAIM], [FUND, "*"]] }), true);
    assert.equal(matches({ contractIds: [CONTRACT_B], topics: [["**"]] }), false);
    assert.equal(readEventFilters({ filters: [{ contractIds: [CONTRACT_B] }, { type: "contract" }] })(event()), true);
    assert.equal(readEventFilters({ filters: [{ contractIds: [CONTRACT_B] }, { type: "system" }] })(event()), false);
  });

  test("with the most that is allowed of everything", () => {
    const filter = { contractIds: Array(5).fill(CONTRACT_A), topics: Array(5).fill(["*", "*", "*", "*", "**"]) };
    assert.equal(readEventFilters({ filters: Array(5).fill(filter) })(event()), false);
  });
});

describe("event filters are refused with -32602", () => {
  const refusals: [string, unknown, string | RegExp][] = [
    ["more than 5 filters", Array(6).fill({}), "maximum 5 filters per request"],
    [
      "diagnostic events",
      [{}, { type: "diagnostic" }],
      "filter 2 invalid: filter type invalid: if set, type must be either 'system' or 'contract'",
    ],
    [
      "more than 5 contract ids",
      [{ contractIds: Array(6).fill(CONTRACT_A) }],
      "filter 1 invalid: maximum 5 contract IDs per filter",
    ],
    ["an account for a contract", [{ contractIds: [CONTRACT_A, "GABC"] }], "filter 1 invalid: contract ID 2 invalid"],
    ["more than 5 topic filters", [{ topics: Array(6).fill(["*"]) }], "filter 1 invalid: maximum 5 topics per filter"],
    [
      "an empty topic filter",
      [{ topics: [[]] }],
      "filter 1 invalid: topic 1 invalid: topic must have at least 1 segment",
    ],
    [
      "a null topic filter",
      [{ topics: [null] }],
      "filter 1 invalid: topic 1 invalid: topic must have at least 1 segment",
    ],
    [
      "more than 4 segments",
      [{ topics: [["*"], ["*", "*", "*", "*", "*"]] }],
      "filter 1 invalid: topic 2 invalid: topic cannot have more than 4 segments",
    ],
    [
      "** before the end",
      [{ topics: [["*", "**", "*"]] }],
      "filter 1 invalid: topic 1 invalid: segment 2 invalid: wildcard '**' is only allowed as the last segment",
    ],
    ["a segment that is not base64", [{ topics: [["***"]] }], /topic segment '\*\*\*' is neither/],
    ["a segment that is not an ScVal", [{ topics: [["AAAA"]] }], /topic segment 'AAAA' is neither/],
    ["a segment that is a number", [{ topics: [[5]] }], "invalid parameters: topics[0] must be a string; got a number"],
    ["a topic that is a string", [{ topics: ["*"] }], "invalid parameters: topics must be an array; got a string"],
    ["a type that is a number", [{ type: 1 }], "invalid parameters: type must be a string; got a number"],
    ["a filter that is a string", ["x"], "invalid parameters: filters must be an array of objects"],
    ["filters that are an object", {}, "invalid parameters: filters must be an array; got an object"],
  ];
  for (const [name, filters, message] of refusals) {
    test(`for ${name}`, () => {
      assert.throws(() => readEventFilters({ filters }), { code: -32602, message });
    });
  }
});
