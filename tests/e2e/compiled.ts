import { execFile } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { environment } from "./sandbox_process.ts";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Compiles the executable into a new folder that holds it and nothing else; the caller removes the folder. */
export async function compileExecutable(): Promise<{ folder: string; gateway: string }> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-executable-"));
  await promisify(execFile)(join(ROOT, "compile.sh"), [], { env: environment({ DIST: folder }) });
  return { folder, gateway: join(folder, "gateway") };
}
