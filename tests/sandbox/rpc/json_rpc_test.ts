// needs: neutral
import { strict as assert } from "node:assert";
import { describe, test } from "node:test";
import fc from "fast-check";
import { answerJsonRpc, JsonRpcError, type Method, NotJson } from "../../../lib/sandbox/rpc/json_rpc.ts";

const methods = new Map<string, Method>([
  ["echo", (params) => params],
  ["refuse", () => {
    throw new JsonRpcError(-32602, "limit must not exceed 200");
  }],
  ["break", () => {
    throw new TypeError("undefined is not a function");
  }],
]);

/** The parsed answer to a body, undefined without an answer. */
async function answer(body: unknown) {
  const text = await answerJsonRpc(typeof body === "string" ? body : JSON.stringify(body), methods);
  return text === undefined ? undefined : JSON.parse(text);
}

const call = (fields: Record<string, unknown>) => ({ jsonrpc: "2.0", id: 1, method: "echo", ...fields });

describe("a call", () => {
  test("gets its result with its id, a number or a string", async () => {
    assert.deepEqual(await answer(call({ params: { a: 1 } })), { jsonrpc: "2.0", id: 1, result: { a: 1 } });
    assert.deepEqual(await answer(call({ id: "x", params: {} })), { jsonrpc: "2.0", id: "x", result: {} });
  });

  test("has empty params if they are absent or null", async () => {
    assert.deepEqual((await answer(call({}))).result, {});
    assert.deepEqual((await answer(call({ params: null }))).result, {});
  });

  test("without an id, or with a null id, is a notification and gets no answer", async () => {
    assert.equal(await answer(call({ id: undefined })), undefined);
    assert.equal(await answer(call({ id: null })), undefined);
    assert.equal(await answer(call({ id: null, method: "break" })), undefined);
  });
});

describe("JSON-RPC returns an error for", () => {
  const refusals: [string, unknown, number | string | null, number, string, unknown?][] = [
    ["a bare string", '"x"', null, -32700, "request is not a JSON object"],
    ["null", "null", null, -32600, "invalid version marker"],
    ["a version that is a number", call({ jsonrpc: 2 }), 1, -32700, "invalid version key"],
    ["another version", call({ jsonrpc: "1.0" }), 1, -32600, "invalid version marker"],
    ["no version", call({ jsonrpc: undefined }), 1, -32600, "invalid version marker"],
    ["an id that is an object", call({ id: {} }), null, -32600, "invalid request ID"],
    ["a method that is a number", call({ method: 5 }), 1, -32700, "invalid method name"],
    ["no method", call({ method: undefined }), 1, -32600, "empty method name"],
    ["params that are a string", call({ params: "x" }), 1, -32600, "parameters must be array or object"],
    ["a field of an answer", call({ result: 1 }), 1, -32600, "mixed request and reply fields"],
    ["unknown fields", call({ extra: 1, more: 2 }), 1, -32600, "extra fields in request", ["extra", "more"]],
    ["an unknown method", call({ method: "getBlock" }), 1, -32601, "method not found", "getBlock"],
    ["the name of a property of every object", call({ method: "toString" }), 1, -32601, "method not found", "toString"],
    [
      "positional params",
      call({ params: [1] }),
      1,
      -32602,
      "invalid parameters: expected an object of named params; got an array",
    ],
    ["params that the method refuses", call({ method: "refuse" }), 1, -32602, "limit must not exceed 200"],
    ["a fault in the method", call({ method: "break" }), 1, -32603, "undefined is not a function"],
  ];
  for (const [name, body, id, code, message, data] of refusals) {
    test(`${name}: ${code}`, async () => {
      const error = data === undefined ? { code, message } : { code, message, data };
      assert.deepEqual(await answer(body), { jsonrpc: "2.0", id, error });
    });
  }
});

test("a body that is not JSON throws NotJson", async () => {
  for (const body of ["", "{", "[1", "getHealth"]) await assert.rejects(answerJsonRpc(body, methods), NotJson);
});

describe("a batch", () => {
  test("gets an array of results and errors in its order, without notifications", async () => {
    const answers = await answer([
      call({ id: 1 }),
      call({ id: undefined }),
      7,
      null,
      call({ id: 2, method: "refuse" }),
      call({ id: 3, params: { b: 2 } }),
    ]);
    assert.deepEqual(answers.map((each: { id: number; error?: { code: number } }) => [each.id, each.error?.code]), [
      [1, undefined],
      [null, -32700],
      [null, -32600],
      [2, -32602],
      [3, undefined],
    ]);
  });

  test("of one call gets an array of one answer", async () => {
    assert.deepEqual(await answer([call({})]), [{ jsonrpc: "2.0", id: 1, result: {} }]);
  });

  test("that is empty or has only notifications gets no answer", async () => {
    assert.equal(await answer([]), undefined);
    assert.equal(await answer([call({ id: undefined })]), undefined);
  });

  test("of more than 100 calls gets the error -32600", async () => {
    assert.equal((await answer(Array(100).fill(call({})))).length, 100);
    assert.equal((await answer(Array(101).fill(call({})))).error.code, -32600);
  });

  test("with too large an answer gets the error -32603", async () => {
    const large = new Map<string, Method>([["large", () => "x".repeat(40 * 1024 * 1024)]]);
    const text = await answerJsonRpc(JSON.stringify([call({ method: "large" }), call({ method: "large" })]), large);
    assert.equal(JSON.parse(text!).error.code, -32603);
  });
});

test("any JSON gets JSON-RPC answers or none", async () => {
  const field = fc.jsonValue();
  const almost = fc.record(
    { jsonrpc: fc.oneof(fc.constant("2.0"), field), id: field, method: field, params: field, error: field },
    { requiredKeys: [] },
  );
  await fc.assert(fc.asyncProperty(fc.oneof(field, almost, fc.array(almost)), async (message) => {
    const text = await answerJsonRpc(JSON.stringify(message), methods);
    for (const each of text === undefined ? [] : [JSON.parse(text)].flat()) {
      assert.equal(each.jsonrpc, "2.0");
      assert.equal("result" in each, !("error" in each));
      if (each.error) assert.ok([-32700, -32600, -32601, -32602, -32603].includes(each.error.code));
    }
  }));
});
