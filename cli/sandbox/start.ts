import { join } from "node:path";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type Config, ENV_PREFIX, SETTINGS } from "../../lib/config.ts";
import { readConfig } from "../read_config.ts";
import { mintKey } from "../../lib/keys/api_key.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import type { Log } from "../../lib/log.ts";
import { ListenError } from "../../lib/runtime/listening.ts";
import { type HttpServer, serveHttp } from "../../lib/runtime/serve.ts";
import type { Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { SANDBOX_PASSPHRASE, type SandboxNetwork } from "../../lib/sandbox/network.ts";
import { createRpcServer, type RpcServer } from "../../lib/sandbox/rpc/server.ts";
import { defaultStoreSetting } from "../../lib/runtime/default_store.ts";
import { openStore } from "../../lib/store/open.ts";
import { toStoreError } from "../../lib/store/sqlite/errors.ts";
import { SCOPES, type Store } from "../../lib/store/store.ts";
import { VERSION } from "../../lib/version.ts";
import { CommandError, type CommandIo } from "../command.ts";
import { createCommandLog } from "../command_log.ts";
import { type Front, serveGateway } from "../serve_gateway.ts";
import { secureRandom } from "../../lib/random.ts";
import { SANDBOX_ENVIRONMENT, type SandboxFlags } from "./flags.ts";
import { ledgerFile, sandboxFolder } from "./folder.ts";
import { setUp, startNetwork } from "./network.ts";
import { welcomePage } from "./page.ts";
import { exampleValuesOf, type SandboxInfo, sandboxPage } from "./running_sandbox.ts";

const HOST = "127.0.0.1";
const KEY_RATE = 6_000;
/** Name of the API key in the ledger's file. */
const KEY_KEPT_AS = "apiKey";
const RPC_IDLE_TIMEOUT_MS = 60_000;
const RPC_DRAIN_MS = 1_000;
/** Origin of the webhook in the examples: an application on this machine. */
const EXAMPLE_RECEIVER = "http://127.0.0.1:3000";
/** The node is in this process, so short intervals cost little. */
const POLL_MS = "100";

/** Starts network, RPC server and gateway. When one fails, it stops the others. */
export async function startSandbox(
  flags: SandboxFlags,
  io: CommandIo,
): Promise<{ info: SandboxInfo; stop(): Promise<void> }> {
  const undo: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const step of undo.reverse()) await step();
  };
  try {
    const folder = await sandboxFolder(flags.stateFolder, undo);
    const config = sandboxConfig(flags, folder, io);
    const log = createCommandLog(config, io);
    const started: Started = {};
    undo.push(async () => await started.network?.stop());
    const front: Front = (request, peer) =>
      sandboxPage(request, peer, started.info, () => pageOf(request, started, io));
    // The server comes first, so that it answers early clients with 503.
    const server = await serveNode(flags.rpcPort, started, front);
    undo.push(() => server.stop({ drainMs: RPC_DRAIN_MS }));
    const network = started.network = await startNetwork(flags, log);
    const sandbox = await setUp(network, flags);
    const { contracts, asset, accounts, ...rest } = sandbox;
    const friendbotUrl = `${server.url}/friendbot`;
    const corsOrigins = flags.settings.corsOrigins === undefined ? undefined : config.corsOrigins;
    started.rpc = createRpcServer({ network, friendbotUrl, version: VERSION, now: network.now, corsOrigins });
    const { passphrase: networkPassphrase } = network;
    const onNetwork = { ...config, ...contracts, networkPassphrase, rpcUrls: [server.url] };
    const gateway = await startGateway({ config: onNetwork, log, network, sandbox, front }, undo);
    const info = {
      gateway: gateway.url,
      rpc: server.url,
      friendbot: friendbotUrl,
      store: gateway.store,
      networkPassphrase,
      contracts,
      asset,
      ...rest,
      apiKey: gateway.apiKey,
      accounts,
    };
    started.info = info;
    return { info, stop };
  } catch (error) {
    await stop();
    // A SQLite error here is of the ledger's file, because the store has its own errors.
    throw flags.stateFolder === undefined ? error : toStoreError(error, ledgerFile(flags.stateFolder));
  }
}

/** The settings of the gateway, still without those of the network. */
function sandboxConfig({ settings }: SandboxFlags, folder: string, { env }: CommandIo): Config {
  const [scheme, name] = defaultStoreSetting().split(":") as [string, string];
  const read = SANDBOX_ENVIRONMENT.map((setting) => ENV_PREFIX + SETTINGS[setting].env);
  return readConfig(Object.fromEntries(read.map((variable) => [variable, env[variable]])), {
    store: `${scheme}:${join(folder, name)}`,
    pollMs: POLL_MS,
    networkPassphrase: SANDBOX_PASSPHRASE,
    ...settings,
    host: HOST,
  });
}

/** The parts that are already running. */
interface Started {
  network?: SandboxNetwork;
  rpc?: RpcServer;
  info?: SandboxInfo;
}

/** Serves the pages of the sandbox, and Stellar RPC and friendbot once they run. */
function serveNode(port: number, started: Started, front: Front): Promise<HttpServer> {
  const isStarting = () => new Response("the sandbox is starting\n", { status: 503 });
  return serveHttp({
    hostname: HOST,
    port,
    idleTimeoutMs: RPC_IDLE_TIMEOUT_MS,
    fetch: (request, peer) => front(request, peer) ?? started.rpc?.fetch(request, peer) ?? isStarting(),
  }).catch(namingFlag("--rpc-port"));
}

function pageOf(request: Request, { network, info }: Started, { program }: CommandIo): Response {
  const { sequence, closeTime } = network!.latestLedger();
  return welcomePage(request, info!, { ledger: sequence, closeTime }, program);
}

/** Adds the flag to the error of a port in use, because the sandbox has two. */
function namingFlag(flag: string): (error: Error) => never {
  return (error) => {
    if (!(error instanceof ListenError && error.kind === "port_in_use")) throw error;
    throw new CommandError(`${error.message}: choose another with ${flag} (0 picks a free one)`);
  };
}

interface GatewayParts {
  config: Config;
  log: Log;
  network: SandboxNetwork;
  sandbox: Sandbox;
  front: Front;
}

/**
 * The clock of the network for the gateway. An advance also passes the gateway's intervals; a revert does not stop them.
 */
function clockOf(network: SandboxNetwork): Clock {
  let [latestMs, passedMs] = [network.now(), 0];
  function monotonicMs(): number {
    const nowMs = network.now();
    passedMs += Math.max(0, nowMs - latestMs);
    latestMs = nowMs;
    return passedMs;
  }
  return { ...systemClock, now: network.now, monotonicMs, networkReverts: network.reverts };
}

/** Starts the gateway as `serve` does, with node and clock of the sandbox's network. */
async function startGateway(
  { config, log, network, sandbox, front }: GatewayParts,
  undo: (() => Promise<unknown>)[],
): Promise<{ url: string; store: string; apiKey: string }> {
  const store = await openStore(config.store);
  const running = await serveGateway({
    config,
    store,
    keys: keySourceFromStore(store),
    log,
    clock: clockOf(network),
    // An application under development listens on this machine.
    targets: { allowLoopbackHttp: true },
    exampleValues: exampleValuesOf(sandbox, EXAMPLE_RECEIVER),
  }, front).catch(namingFlag("--port"));
  undo.push(() => running.stop());
  return { url: running.url, store: store.location, apiKey: await sandboxKey(network, store) };
}

/** The API key of an earlier run while it still works, else a new one. */
async function sandboxKey(network: SandboxNetwork, store: Store): Promise<string> {
  const kept = network.recall(KEY_KEPT_AS);
  const former: { id: string; key: string } | undefined = kept && JSON.parse(kept);
  if (former && (await store.keys.get(former.id))?.disabled === false) return former.key;
  const { key, record } = mintKey({
    name: "sandbox",
    scopes: [...SCOPES],
    rate: KEY_RATE,
    now: network.now(),
    random: secureRandom,
  });
  await store.keys.insert(record);
  network.keep(KEY_KEPT_AS, JSON.stringify({ id: record.id, key }));
  return key;
}
