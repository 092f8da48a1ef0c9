import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { environment, sourceCommand } from "../e2e/sandbox_process.ts";

export interface SmallDisk {
  /** Whether one can be mounted here: by root alone, on Linux, and not in every container. */
  isPossible: boolean;
  /**
   * Runs a shell script in a new disk of its own, which nobody else sees, `"$@"` being the gateway. Answers what it printed,
   * line by line.
   */
  run(script: string): string[];
  remove(): void;
}

/** @param size as `mount` takes it: `256k` */
export function smallDisk(size: string): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), "full-disk-"));
  const disk = join(folder, "disk");
  mkdirSync(disk);
  const printed = (script: string) => {
    const all = `mount -t tmpfs -o size=${size} tmpfs "$0" && cd "$0" && echo mounted\n${script}`;
    const [program, ...args] = sourceCommand();
    const { stdout } = spawnSync("unshare", ["--mount", "sh", "-c", all, disk, program!, ...args], {
      encoding: "utf8",
      env: environment(),
    });
    return (stdout ?? "").trimEnd().split("\n");
  };
  return {
    isPossible: printed("")[0] === "mounted",
    run: (script) => printed(script).slice(1),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
