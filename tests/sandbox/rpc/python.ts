import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

// A client that shares no code with this project, nor with the JavaScript SDK: it disagrees with what both take for granted.
export const PACKAGE = "stellar-sdk==16.1.1";
export const INSTALL_MS = 240_000;

const run = promisify(execFile);

/** A Python that has the SDK, in an environment of its own; undefined where there is none to be had. */
export async function pythonWithSdk(folder: string): Promise<string | undefined> {
  const python = join(folder, "bin", "python");
  try {
    await run("python3", ["-m", "venv", folder], { timeout: INSTALL_MS });
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    await run(python, install, { timeout: INSTALL_MS });
    return python;
  } catch {
    return undefined;
  }
}
