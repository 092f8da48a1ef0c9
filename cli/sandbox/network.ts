import type { Log } from "../../lib/log.ts";
import { readWasm } from "../../lib/runtime/wasm_files.ts";
import { bootstrapReads, bootstrapSandbox, rememberedSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { openRemote } from "../../lib/sandbox/fork/remote.ts";
import { entryLifetimes, LIFETIMES_KEY, withEntryTtl } from "../../lib/sandbox/ledger/genesis.ts";
import { createNetwork, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import { toStoreError } from "../../lib/store/sqlite/errors.ts";
import { CommandError } from "../command.ts";
import { inWords } from "../failure.ts";
import type { SandboxFlags } from "./flags.ts";
import { ledgerFile } from "./folder.ts";

/** The network that the flags ask for, running; the caller stops it. */
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
    onStuck: (error) =>
      log.error("the ledger cannot be written: none closes until it can", { error: errorOf(error, stateFile).message }),
    onUnstuck: () => log.warn("the ledger can be written again and goes on"),
  }).catch((error) => {
    throw errorOf(error, stateFile);
  });
  const lifetimes = entryLifetimes(network.entry(LIFETIMES_KEY)!.dataXdr);
  if (entryTtl === undefined || entryTtl === lifetimes?.persistent) return network;
  await network.stop();
  throw new CommandError(
    `--entry-ttl ${entryTtl} is for a new ledger; in the one in ${stateFolder} entries live for ${lifetimes?.persistent} ` +
      "ledgers: leave the flag out, or name another folder with --state",
  );
}

/** Contracts, asset and accounts on the network, made where they are not there yet. */
export async function setUp(
  network: SandboxNetwork,
  { assetCode, stateFolder, settings }: SandboxFlags,
): Promise<Sandbox> {
  const remembered = rememberedSandbox(network);
  if (remembered !== undefined && assetCode !== undefined && assetCode !== remembered.assetCode) {
    throw new CommandError(
      `--asset ${assetCode} is for a new ledger; the contracts in ${stateFolder} deal in ${
        remembered.assetCode ?? "native"
      }: ` +
        "leave the flag out, or name another folder with --state",
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

/** What went wrong with the file of a ledger, in words. Other errors as they are. */
function errorOf(error: Error & { code?: unknown }, stateFile: string | undefined): Error {
  if (stateFile === undefined) return error;
  if (typeof error.code === "string") return new CommandError(`${stateFile} cannot be used: ${inWords(error)}`);
  return toStoreError(error, stateFile) as Error;
}
