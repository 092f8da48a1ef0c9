import type { Clock } from "../clock.ts";
import { settingTitle } from "../config.ts";
import { CONTRACT_KEYS, type ContractIds, CONTRACTS } from "../escrow/contracts/errors.ts";
import { checkContracts, type ContractCheck } from "../escrow/contracts/contract_check.ts";
import { GatewayError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { RpcClient } from "../stellar/rpc/client.ts";

/** One of the three contracts, as it was when it was last looked at. */
export interface WatchedContract extends ContractCheck {
  /** Unix milliseconds; undefined before the first look. */
  lookedAtMs: number | undefined;
}

/** Says in the log when an id of the settings is not that of the contract it should be: mostly a mistake, or a reset. */
export interface ContractWatch {
  /** Looks where that is still to be done; joins a look that is under way. Bounded in time, never rejects. */
  look(): Promise<void>;
  /** Looks again, whatever is known: other code, another network or a node that is back. */
  lookAgain(): void;
  contracts(): WatchedContract[];
}

/** For one question to the node; a look asks three. */
const TIMEOUT_MS = 5_000;
/** After a look that the node did not answer. */
const PAUSE_MS = 5_000;
/** While something is wrong: it may be a node that lags behind a deployment, or be mended by a restore. */
const PROBLEM_PAUSE_MS = 60_000;
/** While all is well: a gateway that does not watch is told of no reset, nor that a node is back. */
const WELL_PAUSE_MS = 600_000;

export function createContractWatch({ rpc, contracts, log, clock, stopping }: {
  rpc: Pick<RpcClient, "getLedgerEntries">;
  contracts: ContractIds;
  log: Log;
  clock: Pick<Clock, "now" | "monotonicMs">;
  /** Ends the look under way, and all others. */
  stopping: AbortSignal;
}): ContractWatch {
  const bounded: Pick<RpcClient, "getLedgerEntries"> = {
    getLedgerEntries: (keys) => rpc.getLedgerEntries(keys, { timeoutMs: TIMEOUT_MS, signal: stopping }),
  };
  let watched = CONTRACTS.map((name): WatchedContract => {
    return { name, id: contracts[CONTRACT_KEYS[name]], problem: undefined, lookedAtMs: undefined };
  });
  let isDue = true;
  let notBeforeMs = -Infinity;
  let running: Promise<void> | undefined;

  function again(pauseMs: number): void {
    isDue = true;
    notBeforeMs = clock.monotonicMs() + pauseMs;
  }

  function tell({ name, problem }: ContractCheck, before: WatchedContract): void {
    if (problem === before.problem) return;
    const setting = settingTitle(CONTRACT_KEYS[name]);
    if (problem === undefined) log.info("the contract is as expected now", { setting });
    else log.warn("the contract is not as expected; gateway doctor says more", { setting, problem });
  }

  async function lookOnce(): Promise<void> {
    isDue = false;
    try {
      const checks = await checkContracts({ rpc: bounded, contracts });
      checks.forEach((check, index) => tell(check, watched[index]!));
      watched = checks.map((check) => ({ ...check, lookedAtMs: clock.now() }));
      const isWell = checks.every(({ problem }) => problem === undefined);
      // A sooner look may have been asked for meanwhile.
      if (!isDue) again(isWell ? WELL_PAUSE_MS : PROBLEM_PAUSE_MS);
    } catch (error) {
      if (stopping.aborted) return;
      again(PAUSE_MS);
      // A node that fails is told of where nodes are watched.
      const isForeseen = error instanceof GatewayError && error.code === "upstream_error";
      log[isForeseen ? "debug" : "warn"]("the contracts could not be looked at", { error });
    }
  }

  function look(): Promise<void> {
    if (running === undefined && isDue && clock.monotonicMs() >= notBeforeMs && !stopping.aborted) {
      running = lookOnce().finally(() => running = undefined);
    }
    return running ?? Promise.resolve();
  }

  return {
    look,
    lookAgain() {
      again(0);
      void look();
    },
    contracts: () => watched,
  };
}
