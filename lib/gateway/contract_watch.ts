import type { Clock } from "../clock.ts";
import { settingTitle } from "../config.ts";
import { CONTRACT_KEYS, type ContractIds, CONTRACTS } from "../escrow/contracts/errors.ts";
import { checkContracts, type ContractCheck } from "../escrow/contracts/contract_check.ts";
import type { Log } from "../log.ts";
import type { RpcClient } from "../stellar/rpc/client.ts";

/** One of the three contracts, with its last check. */
export interface WatchedContract extends ContractCheck {
  /** Time of the check, Unix milliseconds; undefined before the first check. */
  checkedAtMs: number | undefined;
}

/** For one request to the node; a check sends four. */
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
  let isAnswered = false;
  const bounded: Pick<RpcClient, "getLedgerEntries"> = {
    async getLedgerEntries(keys) {
      isAnswered = false;
      const answer = await rpc.getLedgerEntries(keys, { timeoutMs: TIMEOUT_MS, signal: stopping });
      isAnswered = true;
      return answer;
    },
  };
  let watched = CONTRACTS.map((name): WatchedContract => {
    return { name, id: contracts[CONTRACT_KEYS[name]], problem: undefined, checkedAtMs: undefined };
  });
  let dueAtMs = -Infinity;
  let running: Promise<void> | undefined;

  function report({ name, problem, codeHash }: ContractCheck, before: WatchedContract): void {
    const setting = settingTitle(CONTRACT_KEYS[name]);
    if (codeHash !== undefined && before.codeHash !== undefined && codeHash !== before.codeHash) {
      log.warn("the contract runs other code than before", { setting, code: codeHash, before: before.codeHash });
    }
    if (problem === before.problem) return;
    if (problem === undefined) log.info("the contract is as expected again", { setting });
    else log.warn("the contract is not as expected; gateway doctor reports details", { setting, problem });
  }

  /** The checks, also when the node's answers cannot be understood. Undefined when the node fails or the gateway stops. */
  async function checked(): Promise<ContractCheck[] | undefined> {
    try {
      return await checkContracts({ rpc: bounded, contracts });
    } catch (error) {
      if (stopping.aborted) return undefined;
      log.debug("checking the contracts failed", { error });
      // The RPC client reports failing nodes.
      if (!isAnswered) return undefined;
      const problem = `the gateway cannot check it: ${error instanceof Error ? error.message : error}`;
      return watched.map((one) => ({ ...one, problem }));
    }
  }

  async function checkOnce(): Promise<void> {
    dueAtMs = Infinity;
    let pauseMs = PAUSE_MS;
    const checks = await checked();
    if (checks !== undefined) {
      checks.forEach((one, index) => report(one, watched[index]!));
      watched = checks.map((one, index) => {
        return { ...one, codeHash: one.codeHash ?? watched[index]!.codeHash, checkedAtMs: clock.now() };
      });
      pauseMs = checks.some(({ problem }) => problem !== undefined) ? PROBLEM_PAUSE_MS : WELL_PAUSE_MS;
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
