import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { environment } from "../e2e/sandbox_process.ts";
import type { Life } from "./gateway_process.ts";
import { sendSignal } from "../send_signal.ts";

const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), "gateway_process.ts");

export interface MortalGateway {
  /** Its URL, once it is ready; undefined when it was killed before. Rejects when it ended by itself. */
  ready: Promise<string | undefined>;
  /** SIGKILL, unless it is gone already; resolves when it is. */
  kill(): Promise<void>;
  /** SIGSTOP: it stands still, with all that it has open, until it is woken. */
  suspend(): void;
  wake(): void;
  /** Moves its clock by `Life.stepMs`; the next time back. */
  stepClock(): void;
  /** Resolves when it is gone. */
  gone: Promise<void>;
  /** What it wrote to standard error. */
  log(): string;
}

/** Starts a gateway in a process of its own, on the runtime that runs the test. */
export function beginLife(life: Life): MortalGateway {
  const runtime = "deno" in process.versions ? ["run", "-A", "--no-check"] : [];
  const child = spawn(process.execPath, [...runtime, SCRIPT, JSON.stringify(life)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: environment(),
  });
  let [out, errors] = ["", ""];
  let isToDie = life.writes > 0;
  let isGone = false;
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  const gone = new Promise<void>((resolve) =>
    child.once("close", () => {
      isGone = true;
      resolve();
    })
  );
  const ready = new Promise<string | undefined>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (out.endsWith("\n")) resolve(out.trim());
    });
    gone.then(() => isToDie ? resolve(undefined) : reject(new Error(`the gateway ended by itself:\n${errors}`)));
  });
  function signal(name: "SIGKILL" | "SIGSTOP" | "SIGCONT" | "SIGUSR2"): void {
    if (!isGone) sendSignal(child.pid!, name);
  }
  return {
    ready,
    kill() {
      isToDie = true;
      signal("SIGKILL");
      return gone;
    },
    suspend: () => signal("SIGSTOP"),
    wake: () => signal("SIGCONT"),
    stepClock: () => signal("SIGUSR2"),
    gone,
    log: () => errors,
  };
}
