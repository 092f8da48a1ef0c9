import {
  Account,
  Address,
  Keypair,
  Operation as Op,
  SorobanDataBuilder,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk/base";
import type { ExpectedCall, PreparedOperation, TrustedNetwork } from "../../lib/client/operation_call.ts";

export const NOW = 1_800_000_000;
export const OWNER = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(1));
export const THIEF = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(2));
export const ASSET = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC";
export const THIEF_CONTRACT = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75";

export const NETWORK: TrustedNetwork = {
  networkPassphrase: "Test SDF Network ; September 2015",
  contracts: {
    deviceRegistry: "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA",
    agentRegistry: "CBTDMJVCFQDIVWZBKAKZ2FQ3UEJNAAUFYCTJ3E4ON2MYXPLPSIXQ25JZ",
    paymentEscrow: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
  },
};

const deviceHash = "ab".repeat(32);
const merchant = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(3)).publicKey();
const agent = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(4)).publicKey();

/** One operation of every kind, as it will be called. */
export const OPERATIONS: PreparedOperation[] = [
  { kind: "registerDevice", deviceHash, agent },
  { kind: "revokeDevice", deviceHash },
  { kind: "registerAgent", deviceHash, agent, asset: ASSET, maxAmount: "0", expiresAt: 1_900_000_000 },
  { kind: "revokeAgent", deviceHash },
  { kind: "fundEscrow", deviceHash, asset: ASSET, amount: "170141183460469231731687303715884105727" },
  { kind: "authorize", deviceHash, merchant, asset: ASSET, amount: "40000000", nonce: "18446744073709551615" },
  { kind: "claim", asset: ASSET },
  { kind: "defundEscrow", deviceHash, asset: ASSET, amount: "1" },
  { kind: "sweepEscrow", deviceHash, asset: ASSET, agent },
];

export function invocation(call: ExpectedCall): xdr.SorobanAuthorizedInvocation {
  const args = new xdr.InvokeContractArgs({
    contractAddress: Address.fromString(call.contract).toScAddress(),
    functionName: call.function,
    args: call.args,
  });
  return new xdr.SorobanAuthorizedInvocation({
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(args),
    subInvocations: call.under.map(invocation),
  });
}

export function authorisation(
  call: ExpectedCall,
  credentials: xdr.SorobanCredentials = xdr.SorobanCredentials.sorobanCredentialsSourceAccount(),
): xdr.SorobanAuthorizationEntry {
  return new xdr.SorobanAuthorizationEntry({ credentials, rootInvocation: invocation(call) });
}

export interface Bent {
  source?: string;
  fee?: string;
  minTime?: number;
  maxTime?: number;
  operations?: xdr.Operation[];
  operationSource?: string;
  auth?: xdr.SorobanAuthorizationEntry[];
  memo?: Parameters<TransactionBuilder["addMemo"]>[0];
  bend?(builder: TransactionBuilder): void;
}

/** The envelope that an honest gateway prepares of a call, or one that is bent somewhere. */
export function envelopeOf(call: ExpectedCall, bent: Bent = {}): string {
  const builder = new TransactionBuilder(new Account(bent.source ?? OWNER.publicKey(), "41"), {
    fee: bent.fee ?? "100000",
    networkPassphrase: NETWORK.networkPassphrase,
    timebounds: { minTime: bent.minTime ?? 0, maxTime: bent.maxTime ?? NOW + 300 },
  });
  const { contract, function: name, args } = call;
  const auth = bent.auth ?? [authorisation(call)];
  const operations = bent.operations ??
    [Op.invokeContractFunction({ contract, function: name, args, auth, source: bent.operationSource })];
  for (const operation of operations) builder.addOperation(operation);
  if (bent.memo !== undefined) builder.addMemo(bent.memo);
  bent.bend?.(builder);
  const isCall = operations.length === 1 && operations[0]!.body.type === "invokeHostFunction";
  if (isCall) {
    builder.setSorobanData(new SorobanDataBuilder().setResources(1_000, 200, 300).setResourceFee(5_000).build());
  }
  return builder.build().toXdr();
}
