import {
  Account,
  Address,
  Asset,
  Keypair,
  Operation,
  type Transaction,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { secureRandom } from "../random.ts";
import { sha256, toHex } from "./ledger/bytes.ts";
import { assembled } from "./ledger/assembly.ts";
import { rootKeypair } from "./ledger/genesis.ts";
import type { SandboxNetwork } from "./network.ts";

/** The three contracts as wasm. */
export interface ContractCode {
  deviceRegistry: Uint8Array;
  agentRegistry: Uint8Array;
  paymentEscrow: Uint8Array;
}

export type ContractName = keyof ContractCode;
export type AccountName = "owner" | "agent" | "merchant";

export interface Sandbox {
  /** Contract ids, `C…`. Every sandbox of a passphrase has the same. */
  contracts: Record<ContractName, string>;
  /** Contract id of the asset that the accounts hold: the native one, or one that the sandbox issues. */
  asset: string;
  /** Code of an asset that the sandbox issues. */
  assetCode?: string;
  accounts: Record<AccountName, { address: string; secret: string }>;
}

/** Stroops per operation. */
const BASE_FEE = "100";
const ACCOUNT_NAMES: AccountName[] = ["owner", "agent", "merchant"];
const CONTRACT_NAMES: ContractName[] = ["deviceRegistry", "agentRegistry", "paymentEscrow"];

export interface BootstrapOptions {
  contracts: ContractCode;
  /** Contracts of the forked network, to use instead of new ones. */
  existing?: Sandbox["contracts"];
  /** Code of an asset to issue, which the named accounts trust and hold. Absent: the native asset. */
  assetCode?: string;
  /** For the secrets of the named accounts. Default: the runtime's random generator. */
  randomBytes?: (length: number) => Uint8Array;
}

const STARTING_BALANCE = "10000";
/** Each named account gets so much of an issued asset. There is no faucet for more. */
const ISSUED_BALANCE = "1000000";

/** Name of the result in the state file. */
const KEPT_AS = "sandbox";

/** The result of an earlier setup, undefined when there is none or it was interrupted. */
export function rememberedSandbox(network: SandboxNetwork): Sandbox | undefined {
  const remembered = network.recall(KEPT_AS);
  return remembered === undefined ? undefined : JSON.parse(remembered);
}

/**
 * Deploys the assets' contracts and the three contracts, and creates and funds the named accounts, all by transactions. On a
 * network with a complete setup it returns that one; it completes an interrupted setup.
 */
export function bootstrapSandbox(network: SandboxNetwork, options: BootstrapOptions): Sandbox {
  const { assetCode, randomBytes = secureRandom } = options;
  const remembered = rememberedSandbox(network);
  if (remembered !== undefined) return remembered;

  // On a fork the fixed addresses may be taken.
  const seedOf = (role: string) =>
    network.fork ? randomBytes(32) : sha256(new TextEncoder().encode(`${role} of ${network.passphrase}`));
  const deployer = Keypair.fromRawEd25519Seed(seedOf("deployer"));
  const issuer = assetCode === undefined ? undefined : Keypair.fromRawEd25519Seed(seedOf("issuer"));
  const accounts = {} as Sandbox["accounts"];
  for (const name of ACCOUNT_NAMES) accounts[name] = newAccount(randomBytes(32));
  const fundable = [deployer, ...(issuer ? [issuer] : [])].map((pair) => pair.publicKey());
  const addresses = [...fundable, ...ACCOUNT_NAMES.map((name) => accounts[name].address)];
  fund(network, addresses.filter((address) => accountSequence(network, address) === undefined));

  const native = assetContract(network, deployer, Asset.native());
  const issued = issuer && new Asset(assetCode!, issuer.publicKey());
  if (issued) issue(network, issuer, issued, Object.values(accounts).map(({ secret }) => Keypair.fromSecret(secret)));
  const asset = issued ? assetContract(network, deployer, issued) : native;
  const contracts = options.existing ?? deployAll(network, deployer, options.contracts);
  const sandbox = { contracts, asset, ...(assetCode !== undefined && { assetCode }), accounts };
  network.keep(KEPT_AS, JSON.stringify(sandbox));
  return sandbox;
}

/**
 * LedgerKeys of entries that a setup reads and a forked network may have. Existing contracts are there with code, addresses
 * and lumens, so that these are of one moment. Their code follows once the network has their instances.
 */
export function bootstrapReads(network: SandboxNetwork, { contracts, existing }: BootstrapOptions): Uint8Array[] {
  const native = Asset.native().contractId(network.passphrase);
  const codes = Object.values(contracts).map((wasm) => codeKey(sha256(wasm)));
  const keys = [instanceKey(native), ...codes];
  for (const name of existing ? CONTRACT_NAMES : []) {
    const contract = existing![name];
    const isEscrow = name === "paymentEscrow";
    const symbols = ["Admin", ...(isEscrow ? ["AgentRegistry", "DeviceRegistry"] : [])];
    keys.push(instanceKey(contract), ...symbols.map((symbol) => dataKey(contract, variant(symbol))));
    if (isEscrow) keys.push(dataKey(native, variant("Balance", new Address(contract).toScVal())));
    const wasmHash = wasmHashOf(network, contract);
    if (wasmHash) keys.push(codeKey(wasmHash));
  }
  return keys;
}

/** A key of contract data as Soroban's SDK makes it of an enum. */
const variant = (name: string, ...values: xdr.ScVal[]) => xdr.ScVal.scvVec([xdr.ScVal.scvSymbol(name), ...values]);

function codeKey(hash: Uint8Array): Uint8Array {
  return xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash })).toXdr();
}

/** The hash of a contract's code, undefined for a contract that is unknown or an asset's. */
function wasmHashOf(network: SandboxNetwork, contract: string): Uint8Array | undefined {
  const held = network.entry(instanceKey(contract));
  const data = held && xdr.LedgerEntryData.fromXdr(held.dataXdr);
  const value = data?.type === "contractData" ? data.contractData.val : undefined;
  const executable = value?.type === "scvContractInstance" ? value.instance.executable : undefined;
  return executable?.type === "contractExecutableWasm" ? executable.wasmHash.value : undefined;
}

function deployAll(network: SandboxNetwork, deployer: Keypair, code: ContractCode): Sandbox["contracts"] {
  const contracts = {} as Sandbox["contracts"];
  for (const name of CONTRACT_NAMES) contracts[name] = deploy(network, deployer, name, code[name]);
  const admin = new Address(deployer.publicKey()).toScVal();
  const id = (name: ContractName) => new Address(contracts[name]).toScVal();
  initialize(network, deployer, contracts.deviceRegistry, [admin]);
  initialize(network, deployer, contracts.agentRegistry, [admin]);
  initialize(network, deployer, contracts.paymentEscrow, [admin, id("agentRegistry"), id("deviceRegistry")]);
  return contracts;
}

/** Deploys the asset's contract unless it exists. Returns the contract id. */
function assetContract(network: SandboxNetwork, deployer: Keypair, asset: Asset): string {
  const contract = asset.contractId(network.passphrase);
  if (!contractExists(network, contract)) {
    invoke(network, deployer, Operation.createStellarAssetContract({ asset }));
  }
  return contract;
}

/** Gives the holders a trustline and a balance of the asset, in one transaction. */
function issue(network: SandboxNetwork, issuer: Keypair, asset: Asset, holders: Keypair[]): void {
  const builder = transactionOf(network, issuer);
  for (const holder of holders) {
    builder.addOperation(Operation.changeTrust({ asset, source: holder.publicKey() }));
    builder.addOperation(Operation.payment({ asset, amount: ISSUED_BALANCE, destination: holder.publicKey() }));
  }
  send(network, builder.setTimeout(0).build(), issuer, ...holders);
}

function newAccount(seed: Uint8Array): { address: string; secret: string } {
  const keypair = Keypair.fromRawEd25519Seed(seed);
  return { address: keypair.publicKey(), secret: keypair.secret() };
}

function accountSequence(network: SandboxNetwork, address: string): bigint | undefined {
  const accountId = Keypair.fromPublicKey(address).xdrAccountId();
  const entry = network.entry(xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr());
  const data = entry && xdr.LedgerEntryData.fromXdr(entry.dataXdr);
  return data?.type === "account" ? data.account.seqNum : undefined;
}

const instanceKey = (contract: string) => dataKey(contract, xdr.ScVal.scvLedgerKeyContractInstance());

function dataKey(contract: string, key: xdr.ScVal): Uint8Array {
  return xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract: new Address(contract).toScAddress(),
      key,
      durability: xdr.ContractDataDurability.persistent,
    }),
  ).toXdr();
}

function contractExists(network: SandboxNetwork, contract: string): boolean {
  return network.entry(instanceKey(contract)) !== undefined;
}

/** Uploads the code and creates the contract at its fixed address. Returns the contract id. */
function deploy(network: SandboxNetwork, deployer: Keypair, name: ContractName, wasm: Uint8Array): string {
  const address = new Address(deployer.publicKey());
  const salt = sha256(new TextEncoder().encode(name));
  const contract = contractIdOf(network.passphrase, address, salt);
  if (contractExists(network, contract)) return contract;
  invoke(network, deployer, Operation.uploadContractWasm({ wasm }));
  invoke(network, deployer, Operation.createCustomContract({ address, wasmHash: sha256(wasm), salt }));
  return contract;
}

function contractIdOf(passphrase: string, deployer: Address, salt: Uint8Array): string {
  const preimage = xdr.HashIdPreimage.envelopeTypeContractId(
    new xdr.HashIdPreimageContractId({
      networkId: sha256(new TextEncoder().encode(passphrase)),
      contractIdPreimage: xdr.ContractIdPreimage.contractIdPreimageFromAddress(
        new xdr.ContractIdPreimageFromAddress({ address: deployer.toScAddress(), salt }),
      ),
    }),
  );
  return Address.contract(sha256(preimage.toXdr())).toString();
}

/** Error number of all three contracts at a second `initialize`. */
const ALREADY_INITIALIZED = 1;

/** The network refused a transaction of the setup. */
export class SetupError extends Error {
  override name = "SetupError";

  /** @param contractError the number of the contract error, if a contract refused */
  constructor(why: string, readonly contractError?: number) {
    super(`the setup of the sandbox failed: ${why}`);
  }
}

function initialize(network: SandboxNetwork, deployer: Keypair, contract: string, args: xdr.ScVal[]): void {
  const operation = Operation.invokeContractFunction({ contract, function: "initialize", args });
  try {
    invoke(network, deployer, operation);
  } catch (error) {
    if (!(error instanceof SetupError) || error.contractError !== ALREADY_INITIALIZED) throw error;
  }
}

/** Creates the accounts with lumens of the root account, in one transaction. */
function fund(network: SandboxNetwork, addresses: string[]): void {
  const root = rootKeypair(network.passphrase);
  const builder = transactionOf(network, root);
  for (const destination of addresses) {
    builder.addOperation(Operation.createAccount({ destination, startingBalance: STARTING_BALANCE }));
  }
  send(network, builder.setTimeout(0).build(), root);
}

function transactionOf(network: SandboxNetwork, source: Keypair): TransactionBuilder {
  const sequence = accountSequence(network, source.publicKey()) ?? 0n;
  const account = new Account(source.publicKey(), sequence.toString());
  return new TransactionBuilder(account, { fee: BASE_FEE, networkPassphrase: network.passphrase });
}

/**
 * Simulates, signs, submits and closes a ledger.
 * @throws {SetupError} when the network refuses
 */
function invoke(network: SandboxNetwork, source: Keypair, operation: xdr.Operation): void {
  const draft = transactionOf(network, source).addOperation(operation).setTimeout(0).build();
  const called = assembled(network, draft);
  if ("error" in called) throw new SetupError(called.error, called.contractError);
  send(network, called.transaction, source);
}

function send(network: SandboxNetwork, transaction: Transaction, ...signers: Keypair[]): void {
  transaction.sign(...signers);
  const outcome = network.submit(transaction.toEnvelope().toXdr());
  network.closeLedger();
  const applied = network.transaction(outcome.hash);
  if (applied?.successful) return;
  const result = outcome.status === "ERROR" ? outcome.resultXdr : applied?.resultXdr ?? new Uint8Array();
  throw new SetupError(`${outcome.status} ${toHex(result)}`);
}
