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

function matches(filters: unknown, of: NetworkEvent = event()): boolean {
  return readEventFilters({ filters })(of);
}

describe("an event filter", () => {
  type Case = [filter: unknown, matched: boolean, of?: NetworkEvent];
  const cases: Record<string, Case[]> = {
    "without fields matches every event": [[{}, true], [{ type: null, contractIds: null, topics: null }, true]],
    "matches one type or several": [
      [{ type: "contract" }, true],
      [{ type: "system" }, false],
      [{ type: "system,contract" }, true],
      [{ type: "" }, true],
      [{ type: "system" }, true, event({ type: "system" })],
    ],
    "matches any of its contract ids": [
      [{ contractIds: [CONTRACT_B, CONTRACT_A] }, true],
      [{ contractIds: [CONTRACT_B] }, false],
      [{ contractIds: [CONTRACT_B] }, false, event({ contractId: "" })],
      [{ contractIds: [] }, true],
    ],
    "matches topics by value, * as one topic, and ** as all further topics": [
      [{ topics: [[FUND, ONE]] }, true],
      [{ topics: [[FUND, "*"]] }, true],
      [{ topics: [["*", "*"]] }, true],
      [{ topics: [[FUND]] }, false],
      [{ topics: [["*", "*", "*"]] }, false],
      [{ topics: [[CLAIM, "*"]] }, false],
      [{ topics: [[FUND, "**"]] }, true],
      [{ topics: [["**"]] }, true],
      [{ topics: [[FUND, ONE, "**"]] }, true],
      [{ topics: [[FUND, ONE, "*", "**"]] }, false],
      [{ topics: [["**"]] }, true, event({ topics: [] })],
    ],
    "matches if all its fields do, and any of its topic filters": [
      [{ topics: [[CLAIM], [FUND, "*"]] }, true],
      [{ contractIds: [CONTRACT_B], topics: [["**"]] }, false],
    ],
  };
  for (const [what, filters] of Object.entries(cases)) {
    test(what, () => {
      for (const [filter, matched, of] of filters) assert.equal(matches([filter], of), matched, JSON.stringify(filter));
    });
  }
});

describe("event filters", () => {
  test("match every event when there is none", () => {
    assert.equal(readEventFilters({})(event()), true);
    assert.equal(matches(null), true);
  });

  test("match if any of them does", () => {
    assert.equal(matches([{ contractIds: [CONTRACT_B] }, { type: "contract" }]), true);
    assert.equal(matches([{ contractIds: [CONTRACT_B] }, { type: "system" }]), false);
  });

  test("may have five filters of five contract ids and five topics of four segments and **", () => {
    const filter = { contractIds: Array(5).fill(CONTRACT_A), topics: Array(5).fill(["*", "*", "*", "*", "**"]) };
    assert.equal(matches(Array(5).fill(filter)), false);
  });
});

describe("getEvents refuses, with -32602,", () => {
  const TYPES = "if set, type must be either 'system' or 'contract'";
  const LAST = "wildcard '**' is only allowed as the last segment";
  const inFirst = "filter 1 invalid: ";
  const inTopic = `${inFirst}topic 1 invalid: `;
  const refusals: [string, unknown, string | RegExp][] = [
    ["more than 5 filters", Array(6).fill({}), "maximum 5 filters per request"],
    ["diagnostic events", [{}, { type: "diagnostic" }], `filter 2 invalid: filter type invalid: ${TYPES}`],
    ["6 contract ids", [{ contractIds: Array(6).fill(CONTRACT_A) }], `${inFirst}maximum 5 contract IDs per filter`],
    ["an account for a contract", [{ contractIds: [CONTRACT_A, "GABC"] }], `${inFirst}contract ID 2 invalid`],
    ["more than 5 topic filters", [{ topics: Array(6).fill(["*"]) }], `${inFirst}maximum 5 topics per filter`],
    ["an empty topic filter", [{ topics: [[]] }], `${inTopic}topic must have at least 1 segment`],
    ["a null topic filter", [{ topics: [null] }], `${inTopic}topic must have at least 1 segment`],
    ["more than 4 segments", [{ topics: [Array(5).fill("*")] }], `${inTopic}topic cannot have more than 4 segments`],
    ["** before the end", [{ topics: [["*", "**", "*"]] }], `${inTopic}segment 2 invalid: ${LAST}`],
    ["a segment that is not base64", [{ topics: [["***"]] }], /topic segment '\*\*\*' is neither/],
    ["a segment that is not an ScVal", [{ topics: [["AAAA"]] }], /topic segment 'AAAA' is neither/],
    ["a segment that is a number", [{ topics: [[5]] }], "invalid parameters: topics[0] must be a string; got a number"],
    ["a topic that is a string", [{ topics: ["*"] }], "invalid parameters: topics must be an array; got a string"],
    ["a type that is a number", [{ type: 1 }], "invalid parameters: type must be a string; got a number"],
    ["a filter that is a string", ["x"], "invalid parameters: filters must be an array of objects"],
    ["filters that are an object", {}, "invalid parameters: filters must be an array; got an object"],
  ];
  for (const [name, filters, message] of refusals) {
    test(name, () => {
      assert.throws(() => readEventFilters({ filters }), { code: -32602, message });
    });
  }
});
