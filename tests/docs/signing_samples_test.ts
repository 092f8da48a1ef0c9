// needs: long, once
import assert from "node:assert/strict";
import { execFile, type ExecFileOptions } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { createClient } from "../e2e/client.ts";
import { type SandboxProcess, startSandbox } from "../e2e/sandbox_process.ts";
import { isInstalled, samples } from "./tools.ts";

/*
 * The samples of docs/signing.md whose languages are compiled. What is not in the caches of Maven and Go is fetched; where
 * it cannot be, a test is skipped. The first time, Go compiles its SDK, for half a minute or more.
 */
const FETCH_MS = 240_000;
const COMPILE_MS = 600_000;
const skip = "bun" in process.versions ? false : "runs under Bun only: the samples run on neither runtime";

/** The reason to skip a sample: its packages cannot be fetched. */
class NotAtHand extends Error {}

/** A sample as a program: answers the envelope XDR, signed for the network of PASSPHRASE with the seed SECRET. */
type Program = (env: { XDR: string; PASSPHRASE: string; SECRET: string }) => Promise<string>;

const JAVA_SDK = { groupId: "network.lightsail", artifactId: "stellar-sdk", version: "0.44.0" };
const CLASS_PATH = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";
const POM_XML = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sample</groupId>
  <artifactId>sample</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>${Object.entries(JAVA_SDK).map(([name, text]) => `<${name}>${text}</${name}>`).join("")}</dependency>
  </dependencies>
</project>
`;
const MAIN_JAVA = `class Main {
  public static void main(String[] args) throws Exception {
    System.out.print(Signing.sign(System.getenv("XDR"), System.getenv("PASSPHRASE"), System.getenv("SECRET")));
  }
}
`;

async function compileJava(folder: string, sample: string): Promise<Program> {
  assert.ok(sample.includes(`${JAVA_SDK.groupId}:${JAVA_SDK.artifactId}`), "the sample names its package");
  write(folder, { "pom.xml": POM_XML, "Signing.java": sample, "Main.java": MAIN_JAVA });
  const quickStart = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";
  const env = { ...process.env, JAVA_TOOL_OPTIONS: `${process.env.JAVA_TOOL_OPTIONS ?? ""} ${quickStart}` };
  await fetchPackages("mvn", ["--batch-mode", "--quiet", CLASS_PATH, "-Dmdep.outputFile=jars"], { cwd: folder, env });
  const classPath = [folder, readFileSync(join(folder, "jars"), "utf8")].join(delimiter);
  await run("javac", ["-cp", classPath, "Signing.java", "Main.java"], { cwd: folder, env });
  return (given) => run("java", ["-cp", classPath, "Main"], { env: { ...env, ...given } });
}

const GO_SDK = { module: "github.com/stellar/go-stellar-sdk", version: "v0.7.3" };
const GO_MOD = `module sample\n\ngo 1.25.0\n\nrequire ${GO_SDK.module} ${GO_SDK.version}\n`;
const MAIN_GO = `package main

import (
	"fmt"
	"os"

	"sample/signing"
)

func main() {
	signed, err := signing.Sign(os.Getenv("XDR"), os.Getenv("PASSPHRASE"), os.Getenv("SECRET"))
	if err != nil {
		panic(err)
	}
	fmt.Print(signed)
}
`;

async function compileGo(folder: string, sample: string): Promise<Program> {
  write(folder, { "go.mod": GO_MOD, "signing/signing.go": sample, "main.go": MAIN_GO });
  const env = { ...process.env, GOFLAGS: "-mod=mod", GOWORK: "off", GOTOOLCHAIN: "local", CGO_ENABLED: "0" };
  const packages = ["keypair", "txnbuild"].map((name) => `${GO_SDK.module}/${name}`);
  await fetchPackages("go", ["list", "-deps", ...packages], { cwd: folder, env });
  // The SDK takes long to compile: without optimising, and with memory instead of collecting garbage, about half as long.
  const build = ["build", "-gcflags=all=-N -l", "-o", "main", "."];
  await run("go", build, { cwd: folder, env: { ...env, GOPROXY: "off", GOGC: "400" } });
  return (given) => run(join(folder, "main"), [], { env: { ...env, ...given } });
}

function write(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** Runs a program to its end and answers what it printed; throws with its words when it fails. */
async function run(program: string, args: string[], options: ExecFileOptions): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { timeout: COMPILE_MS, ...options, encoding: "utf8" });
  return stdout;
}

async function fetchPackages(program: string, args: string[], options: ExecFileOptions): Promise<void> {
  await run(program, args, { timeout: FETCH_MS, ...options }).catch(({ message, stdout }) => {
    throw new NotAtHand(`${program} cannot have the SDK: ${message}\n${stdout}`);
  });
}

let sandbox: SandboxProcess;
before(async () => {
  if (skip === false) sandbox = await startSandbox();
});
after(() => sandbox?.stop());

const LANGUAGES = [
  { language: "Java", programs: ["mvn", "javac", "java"], compile: compileJava },
  { language: "Go", programs: ["go"], compile: compileGo },
];

for (const [index, { language, programs, compile }] of LANGUAGES.entries()) {
  test(
    `the network accepts an envelope that the signing page's ${language} sample signed`,
    { skip, timeout: FETCH_MS + COMPILE_MS },
    async (t) => {
      const missing = programs.filter((program) => !isInstalled(program));
      if (missing.length > 0) return t.skip(`needs ${missing.join(", ")}`);
      const { gateway, apiKey, accounts: { owner, agent } } = sandbox.info;
      const [sample] = samples("signing.md", language, sandbox.info);
      const folder = mkdtempSync(join(tmpdir(), "signing-sample-"));
      try {
        const sign = await compile(folder, sample!);
        const api = createClient(gateway, apiKey);
        const deviceHash = `${index}`.repeat(64);
        const operation = { kind: "registerDevice", deviceHash, agent: agent.address };
        const { body } = await api.post("/v1/transactions/prepare", { source: owner.address, operation });
        const xdr = await sign({ XDR: body.xdr, PASSPHRASE: body.networkPassphrase, SECRET: owner.secret });
        const submitted = await api.post("/v1/transactions/submit", { xdr });
        assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
        assert.equal((await api.get(`/v1/transactions/${submitted.body.hash}`)).body.status, "success");
        assert.equal((await api.get(`/v1/devices/${deviceHash}`)).body.owner, owner.address);
      } catch (error) {
        if (!(error instanceof NotAtHand)) throw error;
        t.skip(error.message);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );
}
