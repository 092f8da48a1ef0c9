// needs: neutral
import { xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { rejection, REJECTIONS, UNNAMED } from "../../../lib/stellar/transactions/rejections.ts";

/** The names of an XDR enumeration, from its schema. */
const namesOf = (type: Record<string, unknown>) =>
  Object.getOwnPropertyNames(type).filter((name) => {
    return (type[name] as { name?: unknown } | undefined)?.name === name && typeof type[name] === "object";
  });

/** Codes of success, and of an operation that has a code of its own. */
const SUCCEEDED = ["txSuccess", "txFeeBumpInnerSuccess", "opInner", "invokeHostFunctionSuccess"];

const CODES = [xdr.TransactionResultCode, xdr.OperationResultCode, xdr.InvokeHostFunctionResultCode]
  .flatMap((type) => namesOf(type as never)).filter((name) => !SUCCEEDED.includes(name));

describe("the codes of the network's rejections", () => {
  test("are those of the XDR", () => {
    assert.ok(CODES.includes("txFrozenKeyAccessed") && CODES.includes("opTooManySponsoring"), CODES.join());
    assert.deepEqual([...CODES].sort(), [...REJECTIONS].sort());
  });

  for (const code of CODES) {
    test(`${code} has an explanation`, () => {
      const { message, transactionError } = rejection(code, "ab".repeat(32));
      assert.match(message, new RegExp(`was rejected: ${code} \\(\\w+ .+\\)$`));
      assert.equal(transactionError, code);
    });
  }

  test("a rejection without a code has no explanation", () => {
    assert.match(rejection(UNNAMED, "ab").message, /was rejected: ERROR$/);
  });
});
