// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { RpcError } from "../../../lib/stellar/rpc/json_rpc.ts";
import { rejection } from "../../../lib/stellar/transactions/rejections.ts";
import { ENVELOPE, fault, HASH, submitStage } from "./submit_stage.ts";

test("a rejection that another gateway stores does not reject an envelope that may wait for its ledger", async () => {
  const stage = submitStage({
    send: () => new RpcError("sendTransaction", -32603, "no answer"),
    find: (call) => {
      // Another gateway's earlier send failed at a full queue, and it stores its rejection only now.
      if (call === 2) {
        const error = rejection("txInsufficientFee", HASH);
        stage.notes.set(HASH, { ...stage.notes.get(HASH)!, outcome: { status: "rejected", error } });
      }
      return {};
    },
  });
  assert.equal((await fault(stage.transactions.submit(ENVELOPE))).code, "upstream_error");
  assert.equal((await stage.transactions.status(HASH)).status, "pending");
});
