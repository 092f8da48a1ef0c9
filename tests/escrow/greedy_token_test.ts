// needs: neutral
import { Address, hash, type Keypair, Operation, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { addressVal, hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, applyNow } from "../sandbox/past_the_gateway.ts";
import { fault } from "../stellar/transactions/submit_stage.ts";
import { returnedContract } from "./code_owner.ts";
import { greedyToken } from "./greedy_token.ts";
import { sandboxOfFile } from "./sandbox.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
let thief: Keypair;
/** A contract of the thief's that poses as a token. */
let greedy: string;
before(async () => {
  thief = await sandbox.account();
  const { network, merchant, contracts, asset } = sandbox;
  const wasm = greedyToken();
  applyNow(network, thief, Operation.uploadContractWasm({ wasm }));
  const address = new Address(thief.publicKey());
  const created = applyNow(network, thief, Operation.createCustomContract({ address, wasmHash: hash(wasm) }));
  greedy = returnedContract(network, created);
  sandbox.invoke(thief, greedy, "init", addressVal(asset), addressOf(thief));
  const [self, card, token] = [addressOf(thief), hashVal(CARD), addressVal(greedy)];
  // The thief pays a merchant with a card of his own, past the gateway, in his token.
  sandbox.invoke(thief, contracts.deviceRegistry, "register", self, card, self);
  sandbox.invoke(thief, contracts.paymentEscrow, "fund_escrow", addressVal(asset), self, card, i128(1_000_000));
  sandbox.invoke(thief, contracts.agentRegistry, "register_agent", self, card, self, i128(0), token, u64(0));
  const payment = [addressOf(merchant), token, i128(1_000_000), u64(1)];
  sandbox.invoke(thief, contracts.paymentEscrow, "authorize", self, card, ...payment);
});

function balanceOf(who: Keypair): bigint {
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId: who.xdrAccountId() })).toXdr();
  const entry = xdr.LedgerEntryData.fromXdr(sandbox.network.entry(key)!.dataXdr);
  return entry.type === "account" ? entry.account.balance : assert.fail(entry.type);
}

describe("a token that takes money from its receiver", () => {
  test("gets no prepared envelope for the account that would also sign that transfer", async () => {
    const { merchant, asset } = sandbox;
    const source = merchant.publicKey();
    const claim = sandbox.gateway().escrow.transactions.prepare({
      source,
      operation: { kind: "claim", asset: greedy },
    });
    const error = await fault(claim);
    assert.deepEqual([error.code, error.message.split(". ", 1)[0]], [
      "invalid_request",
      `claim would have ${source} authorise transfer of ${asset}, too`,
    ]);
  });

  test("takes the money when the merchant signs past the gateway, as the docs state", () => {
    const { merchant, contracts } = sandbox;
    const before = balanceOf(thief);
    sandbox.invoke(merchant, contracts.paymentEscrow, "claim", addressVal(greedy), addressOf(merchant));
    assert.equal(balanceOf(thief) - before, 1_000_000n);
  });
});
