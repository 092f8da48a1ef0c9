import { Account, Keypair, Operation, TransactionBuilder } from "@stellar/stellar-sdk";
import type { AppliedTransaction, SubmitOutcome } from "../network_types.ts";
import { loadAccount } from "./accounts.ts";
import { rootKeypair } from "./genesis.ts";
import type { LedgerView } from "./state.ts";

/** Lumens a funded account starts with. */
const STARTING_BALANCE = "10000";
const OPERATIONS_PER_TRANSACTION = 100;
const FEE_PER_OPERATION = "100";

export interface FaucetOptions {
  passphrase: string;
  state: LedgerView;
  submit(envelopeXdr: Uint8Array): SubmitOutcome;
  /** Calls back once when the transaction's ledger has closed; undefined: it was dropped. */
  whenClosed(hash: string, callback: (transaction: AppliedTransaction | undefined) => void): void;
}

interface Request {
  address: string;
  resolve(transaction: AppliedTransaction): void;
  reject(error: Error): void;
}

/**
 * Creates accounts out of the root account's lumens. The root account can have one transaction a ledger, so requests that
 * come while one is under way share the next one.
 */
export function createFaucet({ passphrase, state, submit, whenClosed }: FaucetOptions) {
  const root = rootKeypair(passphrase);
  const requests: Request[] = [];
  let underWay = false;

  const exists = (address: string) => loadAccount(state, Keypair.fromPublicKey(address).rawPublicKey()) !== undefined;

  function takeBatch(): Map<string, Request> {
    const batch = new Map<string, Request>();
    for (let left = requests.length; left > 0 && batch.size < OPERATIONS_PER_TRANSACTION; left--) {
      const request = requests.shift() as Request;
      if (exists(request.address)) request.reject(new Error(`account ${request.address} exists already`));
      else if (batch.has(request.address)) requests.push(request);
      else batch.set(request.address, request);
    }
    return batch;
  }

  function build(addresses: Iterable<string>): Uint8Array {
    const sequence = loadAccount(state, root.rawPublicKey())?.seqNum ?? 0n;
    const source = new Account(root.publicKey(), sequence.toString());
    const builder = new TransactionBuilder(source, { fee: FEE_PER_OPERATION, networkPassphrase: passphrase });
    for (const destination of addresses) {
      builder.addOperation(Operation.createAccount({ destination, startingBalance: STARTING_BALANCE }));
    }
    const transaction = builder.setTimeout(0).build();
    transaction.sign(root);
    return transaction.toEnvelope().toXdr();
  }

  function fundNext() {
    const batch = takeBatch();
    if (batch.size === 0) return;
    const outcome = submit(build(batch.keys()));
    if (outcome.status === "TRY_AGAIN_LATER") {
      requests.push(...batch.values());
      return;
    }
    if (outcome.status === "ERROR") {
      for (const { reject } of batch.values()) reject(new Error("the root account cannot pay"));
      return;
    }
    underWay = true;
    whenClosed(outcome.hash, (transaction) => {
      underWay = false;
      for (const request of batch.values()) {
        if (transaction?.successful) request.resolve(transaction);
        else if (transaction) requests.push(request); // One of the accounts was created meanwhile: sort that out anew.
        else request.reject(new Error("the network has dropped the transaction"));
      }
      fundNext();
    });
  }

  return {
    /** Queues the creation of an account; resolves with the transaction once its ledger has closed. */
    fund(address: string): Promise<AppliedTransaction> {
      return new Promise((resolve, reject) => {
        requests.push({ address, resolve, reject });
        if (!underWay) fundNext();
      });
    },
    /** To be told of every closed ledger: what had no place in it is tried again. */
    ledgerClosed() {
      if (!underWay && requests.length > 0) fundNext();
    },
  };
}
