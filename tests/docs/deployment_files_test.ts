// needs: long, once
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createTestCertificates } from "../webhooks/post/test_certificates.ts";
import { SERVERS_PATH } from "./balancers.ts";
import { PROXIES } from "./proxies.ts";
import { isInstalled, readDoc } from "./tools.ts";

const VALIDATOR = "kubernetes-validate==1.37.0";
/** The release that the manifest's first line names, and one of today. */
const KUBERNETES_RELEASES = ["1.30.0", "1.37.0"];
const COMPOSE_READER = "github.com/compose-spec/compose-go/v2";
const COMPOSE_READER_VERSION = "v2.16.2";
const INSTALL_MS = 480_000;

const run = promisify(execFile);
const pathOf = (name: string) => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url).href);

describe("HAProxy", () => {
  const missing = ["haproxy", "openssl"].filter((program) => !isInstalled(program));
  if (missing.length > 0) return void test(`needs ${missing.join(", ")}, not on this machine`, { skip: true });
  let folder: string;
  before(() => folder = mkdtempSync(join(tmpdir(), "gateway-haproxy-")));
  after(() => rmSync(folder, { recursive: true }));

  test("accepts the documented configuration without a warning", () => {
    const certificates = createTestCertificates()!;
    const { cert, key } = certificates.issue("DNS:gateway.example.com");
    certificates.remove();
    writeFileSync(join(folder, "cert.pem"), cert);
    writeFileSync(join(folder, "key.pem"), key);
    const [program] = PROXIES.haproxy!({ folder, port: 8443, upstreamPorts: [8787], hasTls: true });
    const { status, stderr } = spawnSync(program!, ["-c", "-f", join(folder, "haproxy.cfg")], {
      encoding: "utf8",
      env: { PATH: SERVERS_PATH },
    });
    assert.equal(status, 0, stderr);
    assert.doesNotMatch(stderr, /WARNING/);
  });
});

/** A parser of Compose files: Docker's plugin, or the Go module of that plugin. Undefined if this machine has neither. */
async function composeReader(folder: string): Promise<((file: string) => Promise<string>) | undefined> {
  const env = { ...process.env, PGPASSWORD: "hush" };
  const read = async (program: string, args: string[]) => (await run(program, args, { cwd: folder, env })).stdout;
  if (spawnSync("docker", ["compose", "version"]).status === 0) {
    return (file) => read("docker", ["compose", "-f", file, "config", "--format", "json"]);
  }
  try {
    const go = (...args: string[]) => run("go", args, { cwd: folder, timeout: INSTALL_MS });
    writeFileSync(join(folder, "go.mod"), "module reader\n\ngo 1.24\n");
    await go("get", `${COMPOSE_READER}/cmd@${COMPOSE_READER_VERSION}`);
    await go("build", "-o", "reader", `${COMPOSE_READER}/cmd`);
    return (file) => read(join(folder, "reader"), ["-format", "json", "-no-interpolation", file]);
  } catch {
    return undefined;
  }
}

test(
  "Compose parses compose.yaml, whose two gateways are identical and read-only",
  { timeout: INSTALL_MS * 2 },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "gateway-compose-"));
    try {
      const read = await composeReader(folder);
      if (read === undefined) return t.skip("needs docker with its plugin compose, or go and the Go module proxy");
      for (const name of ["compose.yaml", "haproxy.cfg"]) copyFileSync(pathOf(name), join(folder, name));
      for (const name of ["gateway.env", "gateway.pem"]) writeFileSync(join(folder, name), "");
      const { services } = JSON.parse(await read("compose.yaml"));
      assert.deepEqual(Object.keys(services).sort(), ["balancer", "gateway-1", "gateway-2", "postgres"]);
      assert.deepEqual(services["gateway-2"], services["gateway-1"]);
      assert.equal(services["gateway-1"].read_only, true);
      for (const [, target] of readDoc("haproxy.cfg").matchAll(/^ {2}server \S+ (\S+):8787$/gm)) {
        assert.ok(target! in services, `${target} is no service`);
      }
      writeFileSync(join(folder, "wrong.yaml"), readDoc("compose.yaml").replace("image: gateway", "imagine: gateway"));
      await assert.rejects(read("wrong.yaml"), "the parser finds a mistake");
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);

test("the manifest conforms to the schemas of Kubernetes", { timeout: INSTALL_MS }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "gateway-kubernetes-"));
  const python = join(folder, "bin", "python");
  try {
    try {
      await run("python3", ["-m", "venv", folder], { timeout: INSTALL_MS });
      await run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VALIDATOR], {
        timeout: INSTALL_MS,
      });
    } catch {
      return t.skip(`needs python3 with venv, and ${VALIDATOR}`);
    }
    const validate = (file: string, release: string) =>
      run(join(folder, "bin", "kubernetes-validate"), ["--strict", "--kubernetes-version", release, file]);
    for (const release of KUBERNETES_RELEASES) {
      const { stdout, stderr } = await validate(pathOf("kubernetes.yaml"), release);
      assert.equal(`${stdout}${stderr}`.match(/ passed for resource /g)?.length, 3, `${stdout}${stderr}`);
    }
    const wrong = join(folder, "wrong.yaml");
    writeFileSync(wrong, readDoc("kubernetes.yaml").replace("replicas:", "replicants:"));
    await assert.rejects(validate(wrong, KUBERNETES_RELEASES[0]!), "the validator finds a mistake");
  } finally {
    await rm(folder, { recursive: true });
  }
});
