import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

// The Python SDK shares no code with this project, nor with the JavaScript SDK. So it finds faults that both share.
export const PACKAGE = "stellar-sdk==16.1.1";
export const INSTALL_MS = 240_000;

const run = promisify(execFile);

/** Installs the SDK in its own environment. Returns that Python, or undefined if the installation fails. */
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
