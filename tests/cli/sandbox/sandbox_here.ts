import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reportFailure } from "../../../cli/failure.ts";
import { sandboxFlags } from "../../../cli/sandbox/flags.ts";
import { startSandbox } from "../../../cli/sandbox/start.ts";
import { environment, type Finished, type SandboxProcess } from "../../e2e/sandbox_process.ts";
import { prepareStateFolder } from "../../sandbox/ready_folder.ts";
import { type FakeIo, fakeIo } from "../fake_io.ts";

/**
 * Starts in this process what `gateway sandbox --json` starts, on free ports. Its ledgers close at once. It costs half as
 * much as a process. `stop` answers 0: a test of signals or exit codes takes `startSandbox` of sandbox_process.ts.
 */
export async function startSandboxHere(
  extra: string[] = [],
  env: Record<string, string> = {},
): Promise<SandboxProcess> {
  const io = fakeIo({ env: environment(env) });
  const { info, stop } = await start(extra, io);
  return {
    info: JSON.parse(JSON.stringify(info)),
    log: () => io.err,
    async stop() {
      await stop();
      return 0;
    },
  };
}

/** Runs `gateway sandbox` in this process, on free ports, where it cannot start: exit code and what it prints. */
export async function failingSandboxHere(extra: string[], env: Record<string, string> = {}): Promise<Finished> {
  const io = fakeIo({ env: environment(env) });
  try {
    await (await start(extra, io)).stop();
  } catch (error) {
    return { code: reportFailure("sandbox", error, io), stdout: io.out, stderr: io.err };
  }
  throw new Error(`the sandbox starts with ${extra.join(" ")}`);
}

function start(extra: string[], io: FakeIo) {
  return startSandbox(sandboxFlags(["--json", ...freePorts(extra), "--ledger-ms", "0", ...extra]), io);
}

function freePorts(given: string[]): string[] {
  return ["--port", "--rpc-port"].filter((flag) => !given.includes(flag)).flatMap((flag) => [flag, "0"]);
}

/** The same on a network that has its contracts and accounts already, which is ready in a quarter of the time. */
export async function startReadySandboxHere(
  extra: string[] = [],
  env: Record<string, string> = {},
  passphrase?: string,
): Promise<SandboxProcess> {
  const folder = mkdtempSync(join(tmpdir(), "sandbox-here-"));
  await prepareStateFolder(folder, { passphrase });
  const named = passphrase === undefined ? [] : ["--network-passphrase", passphrase];
  const sandbox = await startSandboxHere(["--state", folder, ...named, ...extra], env);
  return {
    ...sandbox,
    async stop() {
      const code = await sandbox.stop();
      rmSync(folder, { recursive: true });
      return code;
    },
  };
}
