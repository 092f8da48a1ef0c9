import { bootstrapSandbox, rememberedSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { StateFile } from "../../lib/sandbox/ledger/state_file.ts";
import type { NetworkOptions, SandboxNetwork } from "../../lib/sandbox/network.ts";
import { createNetwork, SANDBOX_PASSPHRASE } from "../../lib/sandbox/network.ts";
import { closedAt } from "./image_times.ts";
import { cachedImage, type NetworkImage, recorder, restored } from "./network_image.ts";
import { contractCode, engineModule, START_SECONDS, startNetwork, type TestNetwork } from "./sandbox_network.ts";

export interface ReadyNetwork {
  network: SandboxNetwork;
  sandbox: Sandbox;
}

/** The options of a restored network. Settings of the first ledger and a fork need a bootstrapped network. */
export type ReadyOptions = Omit<NetworkOptions, "engineWasm" | "stateFile" | "adjustSettings" | "forkOf">;

/**
 * Restores a network with the three contracts and the funded accounts `owner`, `agent` and `merchant`, as `bootstrapSandbox`
 * sets it up. It closes ledgers at once unless `ledgerMs` says otherwise.
 *
 * All restored networks of a passphrase have the same accounts. Two networks that start within a second also have the same
 * first ledgers. To a gateway they are one network until their next ledgers differ. A test that needs another network calls
 * `bootstrappedNetwork`.
 */
export async function readyNetwork(options: ReadyOptions = {}): Promise<ReadyNetwork> {
  const stateFile = await readyState(options);
  const network = await createNetwork({ engineWasm: engineModule, ledgerMs: 0, ...options, stateFile });
  return { network, sandbox: rememberedSandbox(network)! };
}

/** Restores the same network with the clock and the schedule of `startNetwork`. */
export async function startReadyNetwork(): Promise<ReadyNetwork & TestNetwork> {
  const started = await startNetwork({ stateFile: await readyState({ now: () => START_SECONDS * 1000 }) });
  return { ...started, sandbox: rememberedSandbox(started.network)! };
}

/** A state file to start a ready network from. It stores no later ledger. */
export async function readyState(options?: ReadyOptions): Promise<StateFile> {
  return restored(await readyImage(options));
}

/** Sets a network up by transactions. It has its own accounts and ledgers. */
export async function bootstrappedNetwork(options: Partial<NetworkOptions> = {}): Promise<ReadyNetwork> {
  const network = await createNetwork({ engineWasm: engineModule, ledgerMs: 0, ...options });
  return { network, sandbox: bootstrapSandbox(network, { contracts: contractCode() }) };
}

const images = new Map<string, Promise<NetworkImage>>();

/** The image of a ready network whose ledgers close now. A process reads the image once. */
export async function readyImage(options: Pick<ReadyOptions, "passphrase" | "now"> = {}): Promise<NetworkImage> {
  const { passphrase = SANDBOX_PASSPHRASE, now = Date.now } = options;
  const image = images.get(passphrase) ?? cachedImage(passphrase, () => makeImage(passphrase));
  images.set(passphrase, image);
  return closedAt(await image, Math.floor(now() / 1000));
}

/** Makes the same image at any time and on any machine. */
async function makeImage(passphrase: string): Promise<NetworkImage> {
  const { stateFile, image } = recorder();
  const network = await createNetwork({
    engineWasm: engineModule,
    passphrase,
    ledgerMs: 0,
    now: () => START_SECONDS * 1000,
    schedule: () => () => {},
    randomBytes: (length) => new Uint8Array(length),
    stateFile,
  });
  let accounts = 0;
  const randomBytes = () => sha256(new TextEncoder().encode(`account ${++accounts} of a ready network`));
  bootstrapSandbox(network, { contracts: contractCode(), randomBytes });
  await network.stop();
  return image();
}
