import { type SettingName, SETTINGS } from "../lib/config.ts";
import { readConfig, unknownSettings } from "./read_config.ts";
import { openStore } from "../lib/store/open.ts";
import { ListenError } from "../lib/runtime/listening.ts";
import { type Command, CommandError, type CommandIo } from "./command.ts";
import { createCommandLog } from "./command_log.ts";
import type { Log } from "../lib/log.ts";
import { leaveNow, leaveSoon, type StopSignal, untilAskedToStop } from "./running.ts";
import {
  adviceOnListening,
  adviceWithoutKeys,
  openKeySource,
  type RunningGateway,
  serveGateway,
} from "./serve_gateway.ts";
import { helpText } from "./help.ts";
import { environmentRows, parseSettingFlags, settingFlagRows } from "./setting_flags.ts";
import { storeSetting } from "./store_setting.ts";

/** Long enough for a client that keeps its connections busy; what a restart takes longer for it. */
const FAREWELL_MS = 250;

const NAMES = Object.keys(SETTINGS) as SettingName[];

export const command: Command = {
  help: helpText({
    usage: ["serve [FLAGS]", "[FLAGS]"],
    about:
      "Runs the gateway: on testnet, at http://127.0.0.1:8787, unless told otherwise. Every flag is also a setting " +
      "in the environment, named SERVICE_API_ and the flag in capitals with underscores (--rpc-url: " +
      "SERVICE_API_RPC_URL). A flag beats the environment. Put the RPC URL into the environment where it holds a token: " +
      "a process list shows flags.",
    flags: settingFlagRows(NAMES),
    environment: environmentRows(NAMES),
    notes:
      "SIGTERM or SIGINT stops it gently: requests under way are answered, deliveries written down. A second one " +
      "ends it at once (143 or 130).",
    exitCodes: [
      ["0", "Stopped, and nothing lost"],
      ["1", "It could not start, or something could not be finished: the last line says what"],
      ["2", "Called wrongly: a flag or a setting is to be corrected"],
    ],
    examples: [
      "gateway keygen --name my-app --scopes read,write && gateway serve",
      "gateway serve --port 9000 --store sqlite:/var/lib/gateway/gateway.db",
      "SERVICE_API_RPC_URL=https://rpc.example.com/TOKEN gateway serve",
    ],
  }),
  run: serve,
};

async function serve(args: string[], io: CommandIo): Promise<number> {
  const { settings } = parseSettingFlags(args, NAMES, []);
  const config = readConfig(io.env, settings);
  storeSetting(settings.store, io.env, { isMemoryAllowed: true });
  const log = createCommandLog(config, io);
  for (const name of unknownSettings(io.env)) log.warn("unknown setting in the environment", { setting: name });
  const stopAsked = untilAskedToStop((signal) =>
    log.error("gateway is ended at once by a second signal: requests under way get no answer", { signal })
  );
  const store = await openStore(config.store, { onNotice: log.info });
  const keys = await openKeySource(config, store, log, io.now).catch(async (error) => {
    // Its connections keep the process alive.
    await store.close();
    throw error;
  });
  const running = await serveGateway({ config, store, keys, log }).catch(advised);
  log.info("gateway is listening", {
    url: running.url,
    network: config.networkPassphrase,
    store: store.location,
    keys: keys.location,
  });
  // A store that cannot tell just now ends no gateway that runs.
  if (await keys.isEmpty().catch(() => false)) {
    log.warn(adviceWithoutKeys(config), { keys: keys.location });
  }
  const signal = await stopAsked;
  return await stop(running, signal, log, io);
}

/** Says of an address that cannot be listened on what to do about it. */
function advised(error: unknown): never {
  if (!(error instanceof ListenError)) throw error;
  throw new CommandError(`${error.message}: ${adviceOnListening(error)}`);
}

/** Stops as gently as it can; the exit code and the last line say whether anything was lost: 0 nothing, 1 something. */
async function stop(running: RunningGateway, signal: StopSignal, log: Log, io: CommandIo): Promise<number> {
  const beganAtMs = io.now();
  log.info("gateway is stopping", { signal, requestsInFlight: running.requestsInFlight });
  const { isClean, requestsCutOff } = await running.stop({ farewellMs: FAREWELL_MS });
  const tookMs = io.now() - beganAtMs;
  if (isClean) {
    log.info("gateway has stopped", { tookMs });
    return leaveSoon(0);
  }
  log.error("gateway has stopped, and not everything could be finished", { tookMs, requestsCutOff });
  return await leaveNow(1);
}
