import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import type { Notice, Trouble } from "./notices.ts";

/** Reports the watcher's state to the operator, each change once. */
export interface WatcherReports {
  /** The watcher cannot go on for now. */
  trouble(trouble: Trouble): void;
  /** A poll that did not fail. */
  outcome(result: { outcome: "idle" | "more" | "lagging"; reason?: string }): void;
  /** Checks our own clock against network time. */
  clock(): void;
  /** Why the watcher cannot go on now; undefined while it can. */
  readonly present: string | undefined;
}

/**
 * Behind a load balancer a node is often one ledger late. A lag is reported after this time, which is shorter than a
 * turn.
 */
const REPORTED_LAG_MS = 20_000;

export function createWatcherReports({ head, clock, onProblem }: {
  head: Pick<Head, "clockDisagreement">;
  clock: Clock;
  onProblem(problem: Notice | Trouble): void;
}): WatcherReports {
  let reported: Trouble | undefined;
  let laggingSinceMs: number | undefined;
  let clockDisagrees = false;

  function trouble(state: Trouble): void {
    const isKnown = state.kind === reported?.kind;
    reported = state;
    if (!isKnown) onProblem(state);
  }

  return {
    get present() {
      return reported?.message;
    },
    trouble,
    outcome({ outcome, reason = "" }) {
      if (outcome === "lagging") {
        laggingSinceMs ??= clock.monotonicMs();
        const isLong = clock.monotonicMs() - laggingSinceMs >= REPORTED_LAG_MS;
        if (isLong) trouble({ kind: "node_lagging", message: reason });
        return;
      }
      laggingSinceMs = undefined;
      if (reported === undefined) return;
      reported = undefined;
      onProblem({ kind: "recovered", message: "the watcher follows the network's events again" });
    },
    clock() {
      const seconds = head.clockDisagreement();
      if (seconds === undefined || clockDisagrees) return void (clockDisagrees = seconds !== undefined);
      clockDisagrees = true;
      const message =
        `this machine's clock is ${Math.abs(seconds)} s ${seconds > 0 ? "behind" : "ahead of"} the network's ` +
        "time; envelopes and ages use network time";
      onProblem({ kind: "clock_disagrees", message });
    },
  };
}
