import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { Notice, Trouble } from "./notices.ts";

/** Tells an operator how the watcher fares, each change once. */
export interface WatcherReports {
  /** It cannot go on for now. */
  trouble(trouble: Trouble): void;
  /** How a poll ended that did not fail. */
  outcome(result: { outcome: "idle" | "more" | "lagging"; reason?: string }): void;
  /** Whether our own clock agrees with the network. */
  clock(): void;
}

/** Behind a load balancer a node is often a ledger late; only one that stays late is worth a word: for less than a turn lasts. */
const LAG_WORTH_TELLING_MS = 20_000;

export function createWatcherReports({ head, clock, onProblem }: {
  head: Pick<Head, "clockDisagreement">;
  clock: Clock;
  onProblem(problem: Notice | Trouble): void;
}): WatcherReports {
  let told: Trouble["kind"] | undefined;
  let laggingSinceMs: number | undefined;
  let clockDisagrees = false;

  function trouble(state: Trouble): void {
    if (state.kind === told) return;
    told = state.kind;
    onProblem(state);
  }

  return {
    trouble,
    outcome({ outcome, reason = "" }) {
      if (outcome === "lagging") {
        laggingSinceMs ??= clock.monotonicMs();
        const isLong = clock.monotonicMs() - laggingSinceMs >= LAG_WORTH_TELLING_MS;
        if (isLong) trouble({ kind: "node_lagging", message: reason });
        return;
      }
      laggingSinceMs = undefined;
      if (told === undefined) return;
      told = undefined;
      onProblem({ kind: "recovered", message: "the events of the network are followed again" });
    },
    clock() {
      const seconds = head.clockDisagreement();
      if (seconds === undefined || clockDisagrees) return void (clockDisagrees = seconds !== undefined);
      clockDisagrees = true;
      const message =
        `this machine's clock is ${Math.abs(seconds)} s ${seconds > 0 ? "behind" : "ahead of"} the network's ` +
        "time; what the network sees goes by the network's time";
      onProblem({ kind: "clock_disagrees", message });
    },
  };
}
