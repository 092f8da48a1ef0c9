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

/** Enough for a client that keeps its connections busy. A restart takes so much longer. */
const FAREWELL_MS = 250;

const NAMES = Object.keys(SETTINGS) as SettingName[];

export const command: Command = {
  help: helpText({
    usage: ["serve [FLAGS]", "[FLAGS]"],
    about: "Runs the gateway. By default it uses testnet and listens at http://127.0.0.1:8787.\n\n" +
      "Every flag is also a variable in the environment: --rpc-url is SERVICE_API_RPC_URL. A flag beats the environment. " +
      "If the RPC URL holds a token, set it in the environment, because a process list shows flags.",
    flags: settingFlagRows(NAMES),
    environment: environmentRows(NAMES),
    notes:
      "SIGTERM or SIGINT stops the gateway: it answers the requests in flight and saves the results of deliveries. A " +
      "second signal ends it at once, with exit code 143 or 130.",
    exitCodes: [
      ["0", "Stopped; nothing is lost"],
      ["1", "The gateway cannot start, or something is unfinished; the last line names it"],
      ["2", "Wrong flag or setting; the message names it"],
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
    log.error("gateway ends at a second signal; requests in flight get no answer", { signal })
  );
  const store = await openStore(config.store, { onNotice: log.info });
  const keys = await openKeySource(config, store, log, io.now).catch(async (error) => {
    // Its connections would keep the process alive.
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
  // A store that fails now must not end a running gateway.
  if (await keys.isEmpty().catch(() => false)) {
    log.warn(adviceWithoutKeys(config), { keys: keys.location });
  }
  const signal = await stopAsked;
  return await stop(running, signal, log, io);
}

/** Adds advice to the error of an address that the gateway cannot listen on. */
function advised(error: unknown): never {
  if (!(error instanceof ListenError)) throw error;
  throw new CommandError(`${error.message}: ${adviceOnListening(error)}`);
}

/** Stops the gateway. Exit code and last line report whether anything is lost: 0 nothing, 1 something. */
async function stop(running: RunningGateway, signal: StopSignal, log: Log, io: CommandIo): Promise<number> {
  const beganAtMs = io.now();
  log.info("gateway is stopping", { signal, requestsInFlight: running.requestsInFlight });
  const { isClean, requestsCutOff } = await running.stop({ farewellMs: FAREWELL_MS });
  const tookMs = io.now() - beganAtMs;
  if (isClean) {
    log.info("gateway has stopped", { tookMs });
    return leaveSoon(0);
  }
  log.error("gateway has stopped with unfinished work", { tookMs, requestsCutOff });
  return await leaveNow(1);
}
