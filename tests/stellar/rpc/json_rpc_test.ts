// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RpcError } from "../../../lib/stellar/rpc/json_rpc.ts";

describe("an error of a node", () => {
  const OLDEST = "the oldest ledger: 12 and the latest ledger: 345 for this rpc instance";
  const kinds: [number | undefined, string, RpcError["kind"], RpcError["range"]][] = [
    [-32600, "startLedger must be within the ledger range: 12 - 345", "out_of_range", { oldest: 12, latest: 345 }],
    [-32600, `start ledger (7) must be between ${OLDEST}`, "out_of_range", { oldest: 12, latest: 345 }],
    [-32602, "limit must not exceed 100", "limit", undefined],
    [-32600, "limit must not exceed 200", "limit", undefined],
    [-32602, "invalid XDR", "refused", undefined],
    [-32600, "db read failed for requested parameter", "trouble", undefined],
    [-32601, "method not found", "unknown_method", undefined],
    [-32603, "database is locked", "trouble", undefined],
    [-32001, "request exceeded processing limit threshold", "trouble", undefined],
    [-32003, "could not process", "trouble", undefined],
    [-1, "what?", "other", undefined],
    [undefined, "the answer is larger than 16777216 bytes", "too_large", undefined],
  ];
  for (const [code, message, kind, range] of kinds) {
    test(`${code} "${message}" is of the kind ${kind}`, () => {
      const error = new RpcError("getEvents", code, message);
      assert.deepEqual([error.kind, error.range], [kind, range]);
    });
  }
});
