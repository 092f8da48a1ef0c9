import { type Config, settingTitle } from "../../lib/config.ts";
import type { Clock } from "../../lib/clock.ts";
import { askNewest } from "../../lib/stellar/fresh_read.ts";
import { createHead, type Head } from "../../lib/stellar/head.ts";
import type { Health } from "../../lib/stellar/rpc/schemas.ts";
import type { RpcClient } from "../../lib/stellar/rpc/client.ts";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";
import { createRpcClient } from "../../lib/stellar/rpc/client.ts";
import { AttemptFailure, type Fetch, parseNode } from "../../lib/stellar/rpc/transport.ts";
import type { WatcherState } from "../../lib/store/store.ts";
import { fail, type Finding, ok, skip, warn } from "./findings.ts";

export interface NodeParts {
  config: Config;
  fetch: Fetch;
  clock: Clock;
}

/** A node that answers and is of the right network. */
export interface ExaminedNode {
  rpc: RpcClient;
  /** As new as what it has answered. */
  head: Head;
  health: Health;
}

const TIMEOUT_MS = 5_000;
/** A ledger closes about every five seconds: this old it is late, or a clock is wrong. */
const OLD_LEDGER_SECONDS = 30;
/** Time bounds of envelopes are counted from this clock; a ledger from the future shows that it is behind. */
const MOST_AHEAD_SECONDS = 10;
/** How long a newer ledger is waited for, to tell a standing ledger from a wrong clock. */
const LEDGER_WAIT_MS = 15_000;
const LEDGER_POLL_MS = 1_000;
const SECONDS_PER_LEDGER = 5;
/** A gateway that serves may have read on, or from a node that is ahead: a reset or a lag is more than this. */
const FEW_LEDGERS = 12;
/** Five minutes, as of the alert: a gateway that reads is not so far behind for long. */
const MANY_LEDGERS = 60;
/** Less than this until events are lost is worth a word. */
const FEW_HOURS = 3;

/** What one node came to. */
interface Examination {
  findings: Finding[];
  /** Undefined when it cannot be asked for more. */
  node?: ExaminedNode;
  isOfAnotherNetwork?: boolean;
}

/**
 * Every node of the settings: reachable, a Stellar RPC node, of the right network, its ledger and clock. What is wrong
 * with one is no failure while another is well, for that one is asked then; but a node of another network keeps the
 * gateway from starting.
 */
export async function* examineNodes(parts: NodeParts): AsyncGenerator<Finding, ExaminedNode | undefined> {
  const all = await Promise.all(parts.config.rpcUrls.map((url) => examineNode(url, parts)));
  const well = all.find(({ findings }) => !findings.some(hasFailed));
  for (const { findings, isOfAnotherNetwork } of all) {
    const isReplaced = well !== undefined && !isOfAnotherNetwork;
    for (const finding of findings) yield isReplaced && hasFailed(finding) ? replaced(finding) : finding;
  }
  return (well ?? all.find(({ node }) => node !== undefined))?.node;
}

const hasFailed = ({ verdict }: Finding) => verdict === "fail";

function replaced({ check, found, todo }: Finding): Finding {
  return warn(check, found, `${todo}; until then another node is asked`);
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
    answers = ok("rpc node", `${name} answers, protocol ${protocolVersion}, ledger ${health.latestLedger}`);
  } catch (error) {
    return { findings: [unusable(name, error)] };
  }
  return { findings: [answers, await clockFinding(name, rpc, health, parts)], node: { rpc, head, health } };
}

function anotherNetwork(name: string, found: string, expected: string): Finding {
  return fail(
    "rpc node",
    `${name} is of the network ${JSON.stringify(found)}, the settings say ${JSON.stringify(expected)}`,
    `set ${settingTitle("networkPassphrase")} to that of the node, or ${
      settingTitle("rpcUrls")
    } to a node of your network`,
  );
}

/** Down, not well, or not a node at all: three things to do. */
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
      ? "see whether it runs, and whether name, port, firewall and proxy let this machine reach it"
      : `${
        settingTitle("rpcUrls")
      } has to be that of a Stellar RPC node with its path and token (Horizon is another service)`,
  );
}

async function clockFinding(name: string, rpc: RpcClient, health: Health, parts: NodeParts): Promise<Finding> {
  const closeTime = health.latestLedgerCloseTime ?? (await rpc.getLatestLedger().catch(() => undefined))?.closeTime;
  if (closeTime === undefined) return skip("clock and ledger", `${name} does not say when its ledgers closed`);
  const ageSeconds = Math.round(parts.clock.now() / 1000) - closeTime;
  if (ageSeconds < -MOST_AHEAD_SECONDS) {
    return fail(
      "clock and ledger",
      `this machine's clock is ${-ageSeconds} s behind the newest ledger of ${name}`,
      "set the clock, and let it be kept by NTP: envelopes would be valid for too short a time",
    );
  }
  if (ageSeconds <= OLD_LEDGER_SECONDS) {
    return ok("clock and ledger", `the newest ledger of ${name} closed ${Math.max(0, ageSeconds)} s ago`);
  }
  const isMoving = await hasNewerLedger(rpc, health.latestLedger, parts.clock.wait);
  return isMoving
    ? fail(
      "clock and ledger",
      `ledgers close at ${name}, but ${ageSeconds} s ago by this machine's clock: it is ahead, or the node far behind`,
      "set the clock, and let it be kept by NTP; if it is right, use a node that keeps up with its network",
    )
    : fail(
      "clock and ledger",
      `the newest ledger of ${name} closed ${ageSeconds} s ago, and none has since`,
      "the node or its network stands still: use another node, or wait",
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

/** What the node still holds against where the last run stopped, or a gateway that serves stands: what lies between is lost. */
export function historyFinding(
  state: WatcherState | undefined,
  { latestLedger, oldestLedger, ledgerRetentionWindow }: Health,
  isServed: boolean,
): Finding {
  const isWhole = latestLedger - oldestLedger + 1 < ledgerRetentionWindow;
  const held = `the node holds ledgers ${oldestLedger}–${latestLedger}${isWhole ? ", all since its first" : ""}`;
  if (state === undefined) return ok("history", `nothing is read yet; ${held}`);
  const next = state.scannedLedger + 1;
  if (latestLedger + FEW_LEDGERS < state.scannedLedger) {
    return warn(
      "history",
      `events are read up to ledger ${state.scannedLedger}, the node has come to ${latestLedger}`,
      "if the network was reset, nothing: what is held stays, and the new network follows; else the node lags",
    );
  }
  if (oldestLedger > next) {
    return fail(
      "history",
      `the gateway was off for longer than the node keeps events: ledgers ${next}–${oldestLedger - 1} are gone from it`,
      "start it on a node that still holds them, or they will be a gap in the history (it is shown in /v1/status)",
    );
  }
  const found = `read up to ledger ${state.scannedLedger}; ${held}`;
  // It lets go of a ledger when its window is full, and not before.
  const hours = Math.max(next - oldestLedger, next + ledgerRetentionWindow - latestLedger) * SECONDS_PER_LEDGER / 3_600;
  const left = hours >= 48 ? `${Math.floor(hours / 24)} days` : `${Math.floor(hours)} h`;
  const behind = latestLedger - state.scannedLedger;
  if (isServed && behind > MANY_LEDGERS) {
    return warn(
      "history",
      `${found}: a gateway serves, and is ${behind} ledgers behind; in about ${left} events begin to be lost`,
      "after a start it catches up within minutes; if the number does not fall, its log says why it does not read on",
    );
  }
  if (hours >= FEW_HOURS) return ok("history", `${found}; a gateway that is off misses nothing for about ${left}`);
  return warn("history", `${found}: in about ${left} events begin to be lost`, "start the gateway before that");
}
