import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { until } from "../until.ts";
import { environment } from "./sandbox_process.ts";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** A folder that all files of one run share; the runner creates and removes it. Absent: each file compiles its own. */
const RUN_FOLDER = process.env.TEST_RUN_FOLDER;

/** Puts the compiled executable into a new folder that holds it and nothing else; the caller removes the folder. */
export async function compileExecutable(): Promise<{ folder: string; gateway: string }> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-executable-"));
  const gateway = join(folder, "gateway");
  if (RUN_FOLDER === undefined) await compileInto(folder);
  else await copyFile(await compiledOnce(join(RUN_FOLDER, "executable")), gateway);
  return { folder, gateway };
}

/** The first file of a run compiles; the others wait for its result. */
async function compiledOnce(shared: string): Promise<string> {
  const done = join(shared, "gateway");
  const failed = join(shared, "failed");
  const isFirst = await mkdir(shared).then(() => true, () => false);
  if (!isFirst) {
    await until(() => existsSync(done) || existsSync(failed), 300_000);
    if (existsSync(failed)) throw new Error("another file of this run could not compile the executable");
    return done;
  }
  try {
    const making = join(shared, "making");
    await mkdir(making);
    await compileInto(making);
    // In one step, so that no process copies an incomplete file.
    await rename(join(making, "gateway"), done);
    return done;
  } catch (error) {
    await mkdir(failed);
    throw error;
  }
}

async function compileInto(folder: string): Promise<void> {
  await promisify(execFile)(join(ROOT, "compile.sh"), [], { env: environment({ DIST: folder }) });
}
