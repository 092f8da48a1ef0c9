import type { Clock } from "../clock.ts";
import { settingTitle } from "../config.ts";
import { CONTRACT_KEYS, type ContractIds, CONTRACTS } from "../escrow/contracts/errors.ts";
import { checkContracts, type ContractCheck } from "../escrow/contracts/contract_check.ts";
import { GatewayError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { RpcClient } from "../stellar/rpc/client.ts";

/** One of the three contracts, with its last check. */
export interface WatchedContract extends ContractCheck {
  /** Time of the check, Unix milliseconds; undefined before the first check. */
  checkedAtMs: number | undefined;
}

/** For one request to the node; a check sends three. */
const TIMEOUT_MS = 5_000;
/** After a check that the node did not answer. */
const PAUSE_MS = 5_000;
/** While a contract is wrong: the node may lag behind a deployment, or a restore may repair it. */
const PROBLEM_PAUSE_MS = 60_000;
/** While all is well: a follower does not notice a network reset, nor the return of a node. */
const WELL_PAUSE_MS = 600_000;

/** Warns in the log when a contract id of the settings leads to another contract: mostly a mistake, or a network reset. */
export function createContractWatch({ rpc, contracts, log, clock, stopping }: {
  rpc: Pick<RpcClient, "getLedgerEntries">;
  contracts: ContractIds;
  log: Log;
  clock: Pick<Clock, "now" | "monotonicMs">;
  /** Ends the running check and all later ones. */
  stopping: AbortSignal;
}) {
  const bounded: Pick<RpcClient, "getLedgerEntries"> = {
    getLedgerEntries: (keys) => rpc.getLedgerEntries(keys, { timeoutMs: TIMEOUT_MS, signal: stopping }),
  };
  let watched = CONTRACTS.map((name): WatchedContract => {
    return { name, id: contracts[CONTRACT_KEYS[name]], problem: undefined, checkedAtMs: undefined };
  });
  let dueAtMs = -Infinity;
  let running: Promise<void> | undefined;

  function report({ name, problem }: ContractCheck, before: WatchedContract): void {
    if (problem === before.problem) return;
    const setting = settingTitle(CONTRACT_KEYS[name]);
    if (problem === undefined) log.info("the contract is as expected again", { setting });
    else log.warn("the contract is not as expected; gateway doctor reports details", { setting, problem });
  }

  async function checkOnce(): Promise<void> {
    dueAtMs = Infinity;
    let pauseMs = WELL_PAUSE_MS;
    try {
      const checks = await checkContracts({ rpc: bounded, contracts });
      checks.forEach((one, index) => report(one, watched[index]!));
      watched = checks.map((one) => ({ ...one, checkedAtMs: clock.now() }));
      if (checks.some(({ problem }) => problem !== undefined)) pauseMs = PROBLEM_PAUSE_MS;
    } catch (error) {
      if (stopping.aborted) return;
      pauseMs = PAUSE_MS;
      // The RPC client reports failing nodes.
      const isExpected = error instanceof GatewayError && error.code === "upstream_error";
      log[isExpected ? "debug" : "warn"]("checking the contracts failed", { error });
    }
    // `checkAgain` may have been called meanwhile.
    dueAtMs = Math.min(dueAtMs, clock.monotonicMs() + pauseMs);
  }

  /** Checks the contracts if a check is due; joins a running check. Bounded in time, never rejects. */
  function check(): Promise<void> {
    if (running === undefined && clock.monotonicMs() >= dueAtMs && !stopping.aborted) {
      running = checkOnce().finally(() => running = undefined);
    }
    return running ?? Promise.resolve();
  }

  return {
    check,
    /** Checks the contracts at once: after new code, a network reset, or the return of a node. */
    checkAgain() {
      dueAtMs = clock.monotonicMs();
      void check();
    },
    contracts: () => watched,
  };
}
