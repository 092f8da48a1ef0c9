/** Calls on a sandbox network that bypass the gateway. */
import { Account, Address, type Keypair, Operation, rpc, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import type { ReadyNetwork } from "./ready_network.ts";
import { i128, u64 } from "./sandbox_network.ts";

/** A simulated and signed contract transaction. It is valid for five minutes after the network's latest ledger. */
export function signedEnvelope(network: SandboxNetwork, source: Keypair, operation: xdr.Operation): string {
  const accountId = source.xdrAccountId();
  const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr();
  const entry = xdr.LedgerEntryData.fromXdr(network.entry(key)!.dataXdr);
  if (entry.type !== "account") throw new Error("no account");
  const transaction = new TransactionBuilder(new Account(source.publicKey(), entry.account.seqNum.toString()), {
    fee: "1000",
    networkPassphrase: network.passphrase,
    timebounds: { minTime: 0, maxTime: network.latestLedger().closeTime + 300 },
  }).addOperation(operation).build();
  const outcome = network.simulate(xdr.decodeBytes(transaction.toXdr(), "base64"), {});
  if (!outcome.ok) throw new Error(outcome.error);
  const base64 = (bytes: Uint8Array) => xdr.encodeBytes(bytes, "base64");
  const complete = rpc.assembleTransaction(transaction, {
    id: "1",
    latestLedger: network.latestLedger().sequence,
    events: [],
    transactionData: base64(outcome.transactionDataXdr),
    minResourceFee: outcome.minResourceFee.toString(),
    results: [{ xdr: base64(outcome.result!.valueXdr), auth: outcome.result!.authXdr.map(base64) }],
  }).build();
  complete.sign(source);
  return complete.toXdr();
}

/** Applies a contract operation in a ledger of its own. Returns the transaction's hash. */
export function applyNow(network: SandboxNetwork, source: Keypair, operation: xdr.Operation): string {
  const sent = network.submit(xdr.decodeBytes(signedEnvelope(network, source, operation), "base64"));
  if (sent.status !== "PENDING") throw new Error(sent.status);
  network.closeLedger();
  if (!network.transaction(sent.hash)!.successful) throw new Error(`${sent.hash} failed`);
  return sent.hash;
}

/** Applies a call of a contract's function in a ledger of its own. Returns the transaction's hash. */
export function callNow(
  network: SandboxNetwork,
  source: Keypair,
  contract: string,
  name: string,
  ...args: xdr.ScVal[]
): string {
  return applyNow(network, source, Operation.invokeContractFunction({ contract, function: name, args }));
}

export const addressOf = (who: Keypair | string) =>
  Address.fromString(typeof who === "string" ? who : who.publicKey()).toScVal();

/** Registers a card whose owner is its agent, without a cap, and funds its escrow with the amount. */
export function issueCard(
  { network, sandbox }: ReadyNetwork,
  owner: Keypair,
  deviceHash: string,
  amount: number,
): void {
  const { contracts: { deviceRegistry, agentRegistry, paymentEscrow }, asset } = sandbox;
  const [self, card, token] = [addressOf(owner), hashVal(deviceHash), addressOf(asset)];
  callNow(network, owner, deviceRegistry, "register", self, card, self);
  callNow(network, owner, agentRegistry, "register_agent", self, card, self, i128(0), token, u64(0));
  callNow(network, owner, paymentEscrow, "fund_escrow", token, self, card, i128(amount));
}
