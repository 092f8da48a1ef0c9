/** A client of the sandbox's RPC with the SDK. It builds, prepares, signs, sends and waits. */
import assert from "node:assert/strict";
import { type Keypair, rpc, type Transaction, TransactionBuilder, type xdr } from "@stellar/stellar-sdk";
import type { SandboxRpc } from "./sandbox_rpc.ts";

/** A change of a transaction before it is built. */
export type Change = (builder: TransactionBuilder) => void;

/** An unsigned transaction with the account's next sequence number. */
export async function draft(
  { rpc, network }: SandboxRpc,
  source: Keypair,
  operations: xdr.Operation | xdr.Operation[],
  change: Change = () => {},
): Promise<Transaction> {
  const account = await rpc.getAccount(source.publicKey());
  const builder = new TransactionBuilder(account, { fee: "1000", networkPassphrase: network.passphrase });
  for (const operation of [operations].flat()) builder.addOperation(operation);
  change(builder);
  return builder.setTimeout(60).build();
}

/** A simulated and assembled contract transaction. It is unsigned. */
export async function prepared(on: SandboxRpc, source: Keypair, operation: xdr.Operation, change?: Change) {
  return await on.rpc.prepareTransaction(await draft(on, source, operation, change));
}

/** Signs and sends a transaction that the node queues. Returns its hash. */
export async function send({ rpc }: SandboxRpc, transaction: Transaction, ...signers: Keypair[]): Promise<string> {
  transaction.sign(...signers);
  const sent = await rpc.sendTransaction(transaction);
  assert.equal(sent.status, "PENDING", JSON.stringify(sent.errorResult));
  return sent.hash;
}

export const poll = (on: SandboxRpc, hash: string) => on.rpc.pollTransaction(hash, { sleepStrategy: () => 5 });

/** Signs and sends a transaction and waits until it succeeds. */
export async function succeed(on: SandboxRpc, transaction: Transaction, ...signers: Keypair[]) {
  const done = await poll(on, await send(on, transaction, ...signers));
  assert.equal(done.status, rpc.Api.GetTransactionStatus.SUCCESS);
  return done as rpc.Api.GetSuccessfulTransactionResponse;
}
