import process from "node:process";

/**
 * Runs `turn` on a schedule (five fields, UTC), on Deno only. Call it while a module is evaluated, because Deno Deploy
 * collects its crons then. Deno skips a time while the turn before still runs.
 */
export function cron(name: string, schedule: string, turn: () => Promise<void>): void {
  if (typeof Deno === "undefined" || typeof Deno.cron !== "function") {
    throw new Error("Deno.cron is switched off: run with --unstable-cron, or from the directory of deno.json");
  }
  void Deno.cron(name, schedule, turn);
}

/**
 * Ends the process at the first SIGTERM or SIGINT. With crons Deno catches the first one and goes on. Does nothing on a
 * platform without signals.
 */
export function endAtFirstSignal(): void {
  try {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
  } catch {
    // A platform without signals ends processes in another way.
  }
}
