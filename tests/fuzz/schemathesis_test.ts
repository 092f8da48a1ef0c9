// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { isLong, report, seed } from "./inputs.ts";
import { startServed } from "./served.ts";

const PACKAGE = "schemathesis==4.32.5";
const INSTALL_MS = 240_000;
const TIMEOUT_MS = 3_600_000;
/** The number of examples of each operation in each phase. */
const EXAMPLES = 100;
/** Excluded because a schema cannot express checksums and envelopes: the gateway may refuse data that fits the schema. */
const EXCLUDED = "positive_data_acceptance";

const run = promisify(execFile);

/** Installs schemathesis in a new environment; undefined if Python or the package is not available. */
async function installed(folder: string): Promise<string | undefined> {
  try {
    await run("python3", ["-m", "venv", folder], { timeout: INSTALL_MS });
    const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
    await run(join(folder, "bin", "python"), install, { timeout: INSTALL_MS });
    return join(folder, "bin", "schemathesis");
  } catch {
    return undefined;
  }
}

test("schemathesis finds no answer that deviates from the OpenAPI description", { timeout: TIMEOUT_MS }, async (t) => {
  if (!isLong) return t.skip("the long form of the fuzz tests: FUZZ_INPUTS says how many inputs");
  const folder = await mkdtemp(join(tmpdir(), "schemathesis-"));
  const schemathesis = await installed(folder);
  if (schemathesis === undefined) {
    await rm(folder, { recursive: true });
    return t.skip(`needs python3 with venv, and ${PACKAGE} from PyPI`);
  }
  const served = await startServed({ "default-rate": "1000000" });
  try {
    const { stdout } = await run(schemathesis, [
      "run",
      `${served.gateway.url}/openapi.json`,
      "--header",
      `Authorization: Bearer ${served.apiKey}`,
      "--max-examples",
      String(EXAMPLES),
      "--seed",
      String(seed),
      "--exclude-checks",
      EXCLUDED,
      "--no-color",
    ], { cwd: folder, timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 }).catch((error) => assert.fail(error.stdout));
    const cases = Number(/Test cases:\s+(\d+) generated/.exec(stdout)?.[1]);
    report("schemathesis", cases, new Map());
    assert.ok(cases > 1_000, stdout);
  } finally {
    assert.equal(await served.stop(), 0, served.gateway.log());
    await rm(folder, { recursive: true });
  }
  assert.doesNotMatch(served.gateway.log(), /"level":"error"/);
});
