import { type Config, settingTitle } from "../../lib/config.ts";
import type { Clock } from "../../lib/clock.ts";
import { askNewest } from "../../lib/stellar/fresh_read.ts";
import { createHead, type Head } from "../../lib/stellar/head.ts";
import type { Health } from "../../lib/stellar/rpc/schemas.ts";
import type { RpcClient } from "../../lib/stellar/rpc/client.ts";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";
import { createRpcClient } from "../../lib/stellar/rpc/client.ts";
import { AttemptFailure, type Fetch, parseNode } from "../../lib/stellar/rpc/transport.ts";
import { proxyVariableFor } from "../../lib/runtime/proxy.ts";
import type { WatcherState } from "../../lib/store/store.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";

export interface NodeParts {
  config: Config;
  fetch: Fetch;
  clock: Clock;
}

/** A node of the right network that answers. */
export interface ExaminedNode {
  rpc: RpcClient;
  head: Head;
  health: Health;
}

const TIMEOUT_MS = 5_000;
/** A ledger closes about every 5 seconds. When the latest one is this old, the ledger is late or a clock is wrong. */
const OLD_LEDGER_SECONDS = 30;
/** A ledger from the future shows that this clock is behind. Time bounds of envelopes count from this clock. */
const MOST_AHEAD_SECONDS = 10;
/** How long to wait for a newer ledger, to distinguish a stalled network from a wrong clock. */
const LEDGER_WAIT_MS = 15_000;
const LEDGER_POLL_MS = 1_000;
const SECONDS_PER_LEDGER = 5;
/** A running gateway may be ahead of this node by so much. After a reset, or when the node lags, it is more. */
const FEW_LEDGERS = 12;
/** Five minutes, as in the alert. A gateway that reads events is not so far behind for long. */
const MANY_LEDGERS = 60;
/** Below this the doctor warns of lost events. */
const FEW_HOURS = 3;

/** The result for one node. */
interface Examination {
  findings: Finding[];
  /** Undefined when the node does not answer. */
  node?: ExaminedNode;
  isOfAnotherNetwork?: boolean;
}

/**
 * Checks every node of the settings: that it answers, is a Stellar RPC node of the right network, and its ledger and clock.
 * A failure of one node is only a warning while another one works. A node of another network stays a failure, because the
 * gateway does not start with it.
 */
export async function* examineNodes(parts: NodeParts): AsyncGenerator<Finding, ExaminedNode | undefined> {
  const all = await Promise.all(parts.config.rpcUrls.map((url) => examineNode(url, parts)));
  const well = all.find(({ findings }) => !findings.some(hasFailed));
  for (const { findings, isOfAnotherNetwork } of all) {
    const isWarning = well !== undefined && !isOfAnotherNetwork;
    for (const finding of findings) yield isWarning && hasFailed(finding) ? asWarning(finding) : finding;
  }
  return (well ?? all.find(({ node }) => node !== undefined))?.node;
}

const hasFailed = ({ verdict }: Finding) => verdict === "fail";

function asWarning({ check, found, todo }: Finding): Finding {
  return warn(check, found, `${todo}; until then the gateway uses another node`);
}

async function examineNode(url: string, parts: NodeParts): Promise<Examination> {
  const { fetch, clock } = parts;
  const head: Head = createHead({ clock, ask: () => askNewest(rpc) });
  const rpc = createRpcClient({ urls: [url], fetch, clock, head, timeoutMs: TIMEOUT_MS });
  const { name } = parseNode(url);
  let health: Health;
  let answers: Finding;
  try {
    const { passphrase, protocolVersion } = await rpc.getNetwork();
    if (passphrase !== parts.config.networkPassphrase) {
      return { findings: [anotherNetwork(name, passphrase, parts.config.networkPassphrase)], isOfAnotherNetwork: true };
    }
    health = await rpc.getHealth();
    const proxy = proxyVariableFor(url);
    const through = proxy === undefined ? "" : ` through the proxy of ${proxy}`;
    answers = ok("rpc node", `${name} answers${through}, protocol ${protocolVersion}, ledger ${health.latestLedger}`);
  } catch (error) {
    return { findings: [unusable(name, error)] };
  }
  return { findings: [answers, await clockFinding(name, rpc, health, parts)], node: { rpc, head, health } };
}

function anotherNetwork(name: string, found: string, expected: string): Finding {
  return fail(
    "rpc node",
    `${name} is of the network ${JSON.stringify(found)}, the settings name ${JSON.stringify(expected)}`,
    `set ${settingTitle("networkPassphrase")} to the network of the node, or ${
      settingTitle("rpcUrls")
    } to a node of your network`,
  );
}

/** A node that does not answer, answers with an error, or is no RPC node. */
function unusable(name: string, error: unknown): Finding {
  if (!(error instanceof Error)) throw error;
  if (error instanceof RpcError) {
    return fail(
      "rpc node",
      `${name} is not well: ${error.method} answers "${error.message}"`,
      "wait until it has caught up with its network, or use another node",
    );
  }
  const isDown = error.cause instanceof AttemptFailure && error.cause.worthRetry;
  return fail(
    "rpc node",
    error.message,
    isDown
      ? "check that the node runs, and that this machine reaches it: name, port, firewall, proxy"
      : `set ${
        settingTitle("rpcUrls")
      } to the URL of a Stellar RPC node, with path and token (Horizon is another service)`,
  );
}

async function clockFinding(name: string, rpc: RpcClient, health: Health, parts: NodeParts): Promise<Finding> {
  const closeTime = health.latestLedgerCloseTime ?? (await rpc.getLatestLedger().catch(() => undefined))?.closeTime;
  if (closeTime === undefined) return skip("clock and ledger", `${name} does not report close times`);
  const ageSeconds = Math.round(parts.clock.now() / 1000) - closeTime;
  if (ageSeconds < -MOST_AHEAD_SECONDS) {
    return fail(
      "clock and ledger",
      `this machine's clock is ${-ageSeconds} s behind the latest ledger of ${name}`,
      "set the clock and run NTP: envelopes would be valid for too short a time",
    );
  }
  if (ageSeconds <= OLD_LEDGER_SECONDS) {
    return ok("clock and ledger", `the latest ledger of ${name} closed ${Math.max(0, ageSeconds)} s ago`);
  }
  const isMoving = await hasNewerLedger(rpc, health.latestLedger, parts.clock.wait);
  return isMoving
    ? fail(
      "clock and ledger",
      `the latest ledger of ${name} closed ${ageSeconds} s ago by this machine's clock, although new ledgers close`,
      "set the clock and run NTP; if the clock is right, the node lags, so use another one",
    )
    : fail(
      "clock and ledger",
      `the latest ledger of ${name} closed ${ageSeconds} s ago, and no newer one closes`,
      "the node or its network has stopped: use another node, or wait",
    );
}

async function hasNewerLedger(rpc: RpcClient, sequence: number, wait: Clock["wait"]): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < LEDGER_WAIT_MS; waitedMs += LEDGER_POLL_MS) {
    await wait(LEDGER_POLL_MS);
    const latest = await rpc.getLatestLedger().catch(() => undefined);
    if (latest !== undefined && latest.sequence > sequence) return true;
  }
  return false;
}

/** Compares the ledgers that the node holds with the last one that the gateway scanned. Events between them are lost. */
export function historyFinding(
  state: WatcherState | undefined,
  { latestLedger, oldestLedger, ledgerRetentionWindow }: Health,
  isServed: boolean | undefined,
): Finding {
  const isWhole = latestLedger - oldestLedger + 1 < ledgerRetentionWindow;
  const held = `the node holds ledgers ${oldestLedger}–${latestLedger}${isWhole ? ", all since its first" : ""}`;
  if (state === undefined) return ok("history", `no events read yet; ${held}`);
  const next = state.scannedLedger + 1;
  if (latestLedger + FEW_LEDGERS < state.scannedLedger) {
    return warn(
      "history",
      `events are read up to ledger ${state.scannedLedger}, but the latest ledger of the node is ${latestLedger}`,
      "after a network reset do nothing, because the log continues with the new network; otherwise the node lags",
    );
  }
  if (oldestLedger > next) {
    return fail(
      "history",
      `the gateway was off for longer than the node keeps events: it no longer holds ledgers ${next}–${
        oldestLedger - 1
      }`,
      "start the gateway with a node that holds them, else they become a gap in the history, which /v1/status shows",
    );
  }
  const found = `read up to ledger ${state.scannedLedger}; ${held}`;
  // The node drops a ledger only when its window is full.
  const hours = Math.max(next - oldestLedger, next + ledgerRetentionWindow - latestLedger) * SECONDS_PER_LEDGER / 3_600;
  const left = hours >= 48 ? `${Math.floor(hours / 24)} days` : `${Math.floor(hours)} h`;
  const behind = latestLedger - state.scannedLedger;
  if (isServed && behind > MANY_LEDGERS) {
    return warn(
      "history",
      `${found}; the running gateway is ${behind} ledgers behind and loses events in about ${left}`,
      "after a start it catches up within minutes; if the lag does not fall, see its log",
    );
  }
  if (hours >= FEW_HOURS) return ok("history", `${found}; a stopped gateway loses no events for about ${left}`);
  return warn("history", `${found}; a stopped gateway loses events in about ${left}`, "start the gateway before that");
}
