// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { isLong, seed, told } from "./inputs.ts";
import { startServed } from "./served.ts";

const PACKAGE = "schemathesis==4.32.5";
const INSTALL_MS = 240_000;
const TIMEOUT_MS = 3_600_000;
/** Of each operation in each phase. */
const EXAMPLES = 100;
/** Checksums of addresses, and what is an envelope, no schema can say: what fits it may be refused all the same. */
const EXCLUDED = "positive_data_acceptance";

const run = promisify(execFile);

/** The tool in an environment of its own; undefined where there is no Python, or its packages cannot be had. */
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

test("schemathesis finds no answer that is not as the OpenAPI description says", { timeout: TIMEOUT_MS }, async (t) => {
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
    told("schemathesis", cases, new Map());
    assert.ok(cases > 1_000, stdout);
  } finally {
    assert.equal(await served.stop(), 0, served.gateway.log());
    await rm(folder, { recursive: true });
  }
  assert.doesNotMatch(served.gateway.log(), /"level":"error"/);
});
