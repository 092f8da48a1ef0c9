import type { Log } from "../../lib/log.ts";
import { readWasm } from "../../lib/runtime/wasm_files.ts";
import { bootstrapReads, bootstrapSandbox, rememberedSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { openRemote } from "../../lib/sandbox/fork/remote.ts";
import { entryLifetimes, LIFETIMES_KEY, withEntryTtl } from "../../lib/sandbox/ledger/genesis.ts";
import { createNetwork, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import { toStoreError } from "../../lib/store/sqlite/errors.ts";
import { CommandError } from "../command.ts";
import { fileErrorText } from "../failure.ts";
import type { SandboxFlags } from "./flags.ts";
import { ledgerFile } from "./folder.ts";

/** Starts the network of these flags. The caller stops it. */
export async function startNetwork(
  { ledgerMs, stateFolder, entryTtl, settings, fork }: SandboxFlags,
  log: Log,
): Promise<SandboxNetwork> {
  const forkOf = fork === undefined ? undefined : await openRemote(fork);
  const stateFile = stateFolder === undefined ? undefined : ledgerFile(stateFolder);
  const network = await createNetwork({
    engineWasm: await readWasm("engine"),
    passphrase: settings.networkPassphrase,
    forkOf,
    ledgerMs,
    stateFile,
    adjustSettings: entryTtl === undefined ? undefined : withEntryTtl(entryTtl),
    onLaterEntry: ({ key, ledger }) =>
      log.warn("entry is newer than the fork: the other network changed it since", {
        entry: JSON.stringify(key),
        changedInLedger: ledger,
        forkLedger: forkOf?.ledger.sequence,
      }),
    onStuck: (error) =>
      log.error("ledger file cannot be written; no ledger closes", { error: errorOf(error, stateFile).message }),
    onUnstuck: () => log.warn("ledger file can be written again; ledgers close"),
  }).catch((error) => {
    throw errorOf(error, stateFile);
  });
  const lifetimes = entryLifetimes(network.entry(LIFETIMES_KEY)!.dataXdr);
  if (entryTtl === undefined || entryTtl === lifetimes?.persistent) return network;
  await network.stop();
  throw new CommandError(
    `--entry-ttl must be ${lifetimes?.persistent} for the ledger in ${stateFolder}; got ${entryTtl}. Leave the flag out, ` +
      "or name another folder with --state",
  );
}

/** Creates contracts, asset and accounts on the network, unless they exist. */
export async function setUp(
  network: SandboxNetwork,
  { assetCode, stateFolder, settings }: SandboxFlags,
): Promise<Sandbox> {
  const remembered = rememberedSandbox(network);
  if (remembered !== undefined && assetCode !== undefined && assetCode !== remembered.assetCode) {
    throw new CommandError(
      `--asset must be ${
        remembered.assetCode ?? "native"
      } for the ledger in ${stateFolder}; got ${assetCode}. Leave the ` +
        "flag out, or name another folder with --state",
    );
  }
  const { deviceRegistry, agentRegistry, paymentEscrow } = settings;
  const options = {
    assetCode,
    existing: deviceRegistry && agentRegistry && paymentEscrow
      ? { deviceRegistry, agentRegistry, paymentEscrow }
      : undefined,
    contracts: {
      deviceRegistry: await readWasm("device_registry"),
      agentRegistry: await readWasm("agent_registry"),
      paymentEscrow: await readWasm("payment_escrow"),
    },
  };
  await network.fork?.complete(() => bootstrapReads(network, options).forEach(network.entry));
  return bootstrapSandbox(network, options);
}

/** Turns an error of the ledger's file into one for the operator. Returns other errors as they are. */
function errorOf(error: Error & { code?: unknown }, stateFile: string | undefined): Error {
  if (stateFile === undefined) return error;
  if (typeof error.code === "string") return new CommandError(`${stateFile} cannot be used: ${fileErrorText(error)}`);
  return toStoreError(error, stateFile) as Error;
}
