import process from "node:process";

/**
 * Has `turn` run at the times of a schedule (five fields, UTC); on Deno only. To be called while a module is evaluated:
 * Deno Deploy collects its crons there. A time that comes while the turn before is still running is passed over.
 */
export function cron(name: string, schedule: string, turn: () => Promise<void>): void {
  if (typeof Deno === "undefined" || typeof Deno.cron !== "function") {
    throw new Error("Deno.cron is switched off: run with --unstable-cron, or from the directory of deno.json");
  }
  void Deno.cron(name, schedule, turn);
}

/**
 * Ends the process at the first SIGTERM or SIGINT. Deno takes one for itself where there are crons, and goes on. Does
 * nothing where the platform has no signals.
 */
export function endAtFirstSignal(): void {
  try {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
  } catch {
    // Whoever has no signals is ended otherwise.
  }
}
