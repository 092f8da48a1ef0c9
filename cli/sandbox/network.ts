import { readFile } from "node:fs/promises";
import type { xdr } from "@stellar/stellar-sdk";
import type { Log } from "../../lib/log.ts";
import { readWasm } from "../../lib/runtime/wasm_files.ts";
import {
  bootstrapReads,
  bootstrapSandbox,
  rememberedSandbox,
  type Sandbox,
  SetupError,
} from "../../lib/sandbox/bootstrap.ts";
import { openRemote, type Remote } from "../../lib/sandbox/fork/remote.ts";
import { sameBytes } from "../../lib/sandbox/ledger/bytes.ts";
import { entryLifetimes, LIFETIMES_KEY, withEntryTtl } from "../../lib/sandbox/ledger/genesis.ts";
import { hasHost, NEWEST_PROTOCOL, PROTOCOLS } from "../../lib/sandbox/ledger/protocol.ts";
import { type AdjustSetting, parseSettings, settingEntry, withSettings } from "../../lib/sandbox/ledger/settings.ts";
import { createNetwork, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import { toStoreError } from "../../lib/store/sqlite/errors.ts";
import { CommandError } from "../command.ts";
import { fileErrorText } from "../failure.ts";
import type { SandboxFlags } from "./flags.ts";
import { ledgerFile } from "./folder.ts";

/** Starts the network of these flags. The caller stops it. */
export async function startNetwork(
  { ledgerMs, stateFolder, entryTtl, settingsFile, protocol, settings, fork }: SandboxFlags,
  log: Log,
): Promise<SandboxNetwork> {
  const networkSettings = settingsFile === undefined ? [] : await readSettings(settingsFile);
  const forkOf = fork === undefined ? undefined : await openRemote(fork);
  if (forkOf !== undefined) checkProtocol(forkOf, protocol, log);
  const adjustments = [withSettings(networkSettings), ...(entryTtl === undefined ? [] : [withEntryTtl(entryTtl)])];
  const stateFile = stateFolder === undefined ? undefined : ledgerFile(stateFolder);
  const network = await createNetwork({
    engineWasm: (version) => readWasm(`engine_${version}`),
    passphrase: settings.networkPassphrase,
    forkOf,
    ledgerMs,
    stateFile,
    protocolVersion: protocol,
    adjustSettings: (entryXdr) => adjustments.reduce((entry, adjust: AdjustSetting) => adjust(entry), entryXdr),
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
  const other = networkSettings.map(settingEntry).find(({ keyXdr, dataXdr }) =>
    !sameBytes(network.entry(keyXdr)!.dataXdr, dataXdr) && !(entryTtl !== undefined && sameBytes(keyXdr, LIFETIMES_KEY))
  );
  const isOtherProtocol = protocol !== undefined && protocol !== network.protocolVersion;
  const isOtherTtl = entryTtl !== undefined && entryTtl !== lifetimes?.persistent;
  if (other === undefined && !isOtherTtl && !isOtherProtocol) return network;
  await network.stop();
  const wrong = isOtherProtocol
    ? `--protocol must be ${network.protocolVersion} for the ledger in ${stateFolder}; got ${protocol}`
    : isOtherTtl
    ? `--entry-ttl must be ${lifetimes?.persistent} for the ledger in ${stateFolder}; got ${entryTtl}`
    : `--settings must be the settings of the ledger in ${stateFolder}; ${settingsFile} has another ${other!.name}`;
  throw new CommandError(`${wrong}. Leave the flag out, or name another folder with --state`);
}

async function readSettings(file: string): Promise<xdr.ConfigSettingEntry[]> {
  const text = await readFile(file, "utf8").catch((error) => {
    throw new CommandError(`--settings ${file} cannot be read: ${fileErrorText(error)}`);
  });
  try {
    return parseSettings(text);
  } catch (error) {
    const why = (error as Error).message;
    throw new CommandError(`--settings ${file} must be the output of "stellar network settings": ${why}`);
  }
}

/** @throws {CommandError} for a network whose protocol has no host here, unless the flag asks for this one */
function checkProtocol({ protocolVersion: theirs }: Remote, protocol: number | undefined, log: Log): void {
  if (protocol === theirs || protocol === undefined && hasHost(theirs)) return;
  if (protocol !== undefined) {
    return log.warn("fork continues with another protocol than the other network has", {
      protocol,
      otherNetwork: theirs,
    });
  }
  const hosts = PROTOCOLS.join(" and ");
  const [nearest, when] = theirs > NEWEST_PROTOCOL ? [NEWEST_PROTOCOL, "before"] : [PROTOCOLS[0], "after"];
  throw new CommandError(
    `the network of --fork has protocol ${theirs}, and this version has the Soroban hosts of ${hosts} only: ` +
      `add --protocol ${nearest} to continue with that host, as ${when} its upgrade, or use a version for ` +
      `protocol ${theirs}`,
  );
}

/** Creates contracts, asset and accounts on the network, unless they exist. */
export async function setUp(
  network: SandboxNetwork,
  { assetCode, stateFolder, settingsFile, settings }: SandboxFlags,
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
  try {
    return bootstrapSandbox(network, options);
  } catch (error) {
    if (!(error instanceof SetupError) || settingsFile === undefined) throw error;
    throw new CommandError(`--settings ${settingsFile} must let the sandbox deploy its contracts: ${error.message}`);
  }
}

/** Turns an error of the ledger's file into one for the operator. Returns other errors as they are. */
function errorOf(error: Error & { code?: unknown }, stateFile: string | undefined): Error {
  if (stateFile === undefined) return error;
  if (typeof error.code === "string") return new CommandError(`${stateFile} cannot be used: ${fileErrorText(error)}`);
  return toStoreError(error, stateFile) as Error;
}
