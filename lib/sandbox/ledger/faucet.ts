import {
  Account,
  Address,
  Asset,
  Keypair,
  nativeToScVal,
  Operation,
  StrKey,
  type Transaction,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { AlreadyFunded, type AppliedTransaction, type Network } from "../network_types.ts";
import { availableBalance, loadAccount } from "./accounts.ts";
import { keyOf } from "./bytes.ts";
import { assembled } from "./assembly.ts";
import { rootKeypair } from "./genesis.ts";
import type { LedgerView } from "./state.ts";

/** The payment where no amount is named: 10 000 lumens. An address with as much or more gets none. */
const STARTING_STROOPS = 100_000_000_000n;
const OPERATIONS_PER_TRANSACTION = 100;
const FEE_PER_OPERATION = "100";

export interface FaucetOptions extends Pick<Network, "simulate" | "submit"> {
  passphrase: string;
  state: LedgerView;
  /** Calls back once with the transaction after its ledger closed, or with undefined when the network dropped it. */
  whenClosed(hash: string, callback: (transaction: AppliedTransaction | undefined) => void): void;
}

interface Request {
  /** `G…` or `C…`. */
  address: string;
  /** Undefined: the starting balance, unless the address has it. */
  stroops: bigint | undefined;
  resolve(transaction: AppliedTransaction): void;
  reject(error: Error): void;
}

/**
 * Pays lumens of the root account to accounts, which may be new, and to contracts. The root account can have one transaction
 * per ledger, so requests meanwhile share the next one. A payment to a contract calls the native asset's contract, which
 * needs its own transaction.
 */
export function createFaucet({ passphrase, state, simulate, submit, whenClosed }: FaucetOptions) {
  const root = rootKeypair(passphrase);
  const requests: Request[] = [];
  let underWay = false;

  const accountOf = (address: string) => loadAccount(state, Keypair.fromPublicKey(address).rawPublicKey());

  function hasEnough(address: string): boolean {
    const balance = StrKey.isValidContract(address)
      ? contractBalance(state, passphrase, address)
      : accountOf(address)?.balance ?? 0n;
    return balance >= STARTING_STROOPS;
  }

  /** One contract, or as many accounts as fit. */
  function takeBatch(): Map<string, Request> {
    const batch = new Map<string, Request>();
    for (let left = requests.length; left > 0 && batch.size < OPERATIONS_PER_TRANSACTION; left--) {
      const request = requests.shift() as Request;
      const isContract = StrKey.isValidContract(request.address);
      if (request.stroops === undefined && hasEnough(request.address)) {
        request.reject(new AlreadyFunded(request.address));
      } else if (batch.has(request.address) || (isContract && batch.size > 0)) requests.push(request);
      else batch.set(request.address, request);
      if (isContract && batch.has(request.address)) break;
    }
    return batch;
  }

  function draftOf(operations: xdr.Operation[]): Transaction {
    const sequence = loadAccount(state, root.rawPublicKey())?.seqNum ?? 0n;
    const source = new Account(root.publicKey(), sequence.toString());
    const builder = new TransactionBuilder(source, { fee: FEE_PER_OPERATION, networkPassphrase: passphrase });
    for (const operation of operations) builder.addOperation(operation);
    return builder.setTimeout(0).build();
  }

  function canPay(sum: bigint): boolean {
    const account = loadAccount(state, root.rawPublicKey());
    return account !== undefined && availableBalance(account) >= sum;
  }

  function build(payments: Pick<Request, "address" | "stroops">[]): { transaction: Transaction } | { error: string } {
    const sum = payments.reduce((total, { stroops = STARTING_STROOPS }) => total + stroops, 0n);
    if (!canPay(sum)) return { error: "the root account has too few lumens" };
    const [{ address, stroops = STARTING_STROOPS }] = payments as [Request];
    if (StrKey.isValidContract(address)) {
      return assembled({ simulate }, draftOf([toContract(passphrase, root, address, stroops)]));
    }
    const operations = payments.map(({ address: destination, stroops = STARTING_STROOPS }) =>
      accountOf(destination) === undefined
        ? Operation.createAccount({ destination, startingBalance: inLumens(stroops) })
        : Operation.payment({ destination, asset: Asset.native(), amount: inLumens(stroops) })
    );
    return { transaction: draftOf(operations) };
  }

  function fundNext(): void {
    const batch = takeBatch();
    if (batch.size === 0) return;
    const refuse = (why: string) => {
      for (const { reject } of batch.values()) reject(new Error(why));
      fundNext();
    };
    const built = build([...batch.values()]);
    if ("error" in built) return refuse(built.error);
    built.transaction.sign(root);
    const outcome = submit(built.transaction.toEnvelope().toXdr());
    if (outcome.status === "TRY_AGAIN_LATER") return void requests.push(...batch.values());
    if (outcome.status === "ERROR") return refuse("the root account cannot pay");
    underWay = true;
    whenClosed(outcome.hash, (transaction) => {
      underWay = false;
      for (const request of batch.values()) {
        if (transaction?.successful) request.resolve(transaction);
        // The root account was emptied, or another account was created or merged meanwhile, so check again.
        else if (transaction) requests.push(request);
        else request.reject(new Error("the network dropped the transaction"));
      }
      fundNext();
    });
  }

  return {
    /**
     * Queues a payment. Resolves with the transaction once its ledger has closed.
     * @throws {AlreadyFunded}
     */
    fund(address: string, stroops?: bigint): Promise<AppliedTransaction> {
      return new Promise((resolve, reject) => {
        requests.push({ address, stroops, resolve, reject });
        if (!underWay) fundNext();
      });
    },
    /** The signed envelope that `fund` would submit, undefined when it would refuse. */
    draft(address: string, stroops?: bigint): Uint8Array | undefined {
      const built = stroops === undefined && hasEnough(address) ? undefined : build([{ address, stroops }]);
      if (built === undefined || "error" in built) return undefined;
      built.transaction.sign(root);
      return built.transaction.toEnvelope().toXdr();
    },
    /** Call it after every closed ledger. It submits the waiting requests. */
    ledgerClosed() {
      if (!underWay && requests.length > 0) fundNext();
    },
  };
}

/** The SDK takes amounts as decimal text. */
const inLumens = (stroops: bigint) => `${stroops / 10_000_000n}.${String(stroops % 10_000_000n).padStart(7, "0")}`;

/** The balance of a contract at the native asset's contract, in stroops. */
function contractBalance(state: LedgerView, passphrase: string, contract: string): bigint {
  const held = state.get(keyOf(contractBalanceKey(passphrase, contract)));
  const data = held && xdr.LedgerEntry.fromXdr(held.entryXdr).data;
  if (data?.type !== "contractData" || data.contractData.val.type !== "scvMap") return 0n;
  const amount = data.contractData.val.map?.find(({ key }) => key.type === "scvSymbol" && `${key.sym}` === "amount")
    ?.val;
  return amount?.type === "scvI128" ? (BigInt(amount.i128.hi) << 64n) | BigInt(amount.i128.lo) : 0n;
}

/** LedgerKey of a contract's balance of the native asset. */
function contractBalanceKey(passphrase: string, contract: string): Uint8Array {
  return xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract: new Address(Asset.native().contractId(passphrase)).toScAddress(),
      key: xdr.ScVal.scvVec([xdr.ScVal.scvSymbol("Balance"), new Address(contract).toScVal()]),
      durability: xdr.ContractDataDurability.persistent,
    }),
  ).toXdr();
}

function toContract(passphrase: string, root: Keypair, contract: string, stroops: bigint): xdr.Operation {
  const amount = nativeToScVal(stroops, { type: "i128" });
  return Operation.invokeContractFunction({
    contract: Asset.native().contractId(passphrase),
    function: "transfer",
    args: [new Address(root.publicKey()).toScVal(), new Address(contract).toScVal(), amount],
  });
}
