import { execFile, type ExecFileOptions } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import { isInstalled } from "../docs/tools.ts";

/** The reason to skip a generated client: a missing program, or packages that cannot be fetched. */
export class NotAtHand extends Error {}

/** Runs one step of the generated program, named by STEP: `prepare`, `submit` or `webhooks`. Returns its JSON. */
export type Steps = (env: Record<string, string>) => Promise<string>;

/** Generates a client into the folder, which has `openapi.json`, and compiles it with a program that uses it. */
export type MakeClient = (folder: string) => Promise<Steps>;

const FETCH_MS = 300_000;
const RUN_MS = 300_000;
export const MAKE_MS = 2 * FETCH_MS + 3 * RUN_MS;

async function run(program: string, args: string[], options: ExecFileOptions = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { timeout: RUN_MS, ...options, encoding: "utf8" });
  return stdout;
}

async function fetchPackages(program: string, args: string[], options: ExecFileOptions = {}): Promise<void> {
  await run(program, args, { timeout: FETCH_MS, ...options }).catch(({ message }) => {
    throw new NotAtHand(`${program} cannot have its packages: ${message}`);
  });
}

function needs(...programs: string[]): void {
  const missing = programs.filter((program) => !isInstalled(program));
  if (missing.length > 0) throw new NotAtHand(`needs ${missing.join(", ")}`);
}

async function write(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

const withEnv = (env: Record<string, string>) => ({ env: { ...process.env, ...env } });

/** Makes a Python environment with these packages; returns the folder of its programs. */
async function python(folder: string, packages: string[]): Promise<string> {
  needs("python3");
  const bin = join(folder, "python", "bin");
  await fetchPackages("python3", ["-m", "venv", dirname(bin)]);
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", ...packages];
  await fetchPackages(join(bin, "python"), install);
  return bin;
}

/** Its package on PyPI has the program in it; it needs Java 11 or later. */
const OPENAPI_GENERATOR = "openapi-generator-cli==7.26.0";

async function openApiGenerator(folder: string, bin: string, generator: string, options: string[]): Promise<void> {
  const args = ["generate", "-i", join(folder, "openapi.json"), "-g", generator, "-o", join(folder, "client")];
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  await run(join(bin, "openapi-generator-cli"), [...args, ...options], { env });
}

const PYTHON_OF_OPENAPI_GENERATOR = `
import json, os, gateway
e = os.environ
api = gateway.ApiClient(gateway.Configuration(host=e["GATEWAY"], access_token=e["KEY"]))
transactions = gateway.TransactionsApi(api)
if e["STEP"] == "prepare":
    pay = gateway.AuthorizeOperation(
        kind="authorize", device_hash=e["DEVICE"], merchant=e["MERCHANT"], asset=e["ASSET"], amount=e["AMOUNT"])
    prepared = transactions.prepare_transaction(
        gateway.PrepareRequest(source=e["SOURCE"], operation=gateway.Operation(pay)))
    print(json.dumps(prepared.xdr))
elif e["STEP"] == "submit":
    print(json.dumps(transactions.submit_transaction(gateway.SubmitRequest(xdr=e["XDR"])).hash))
else:
    print(json.dumps([one.url for one in gateway.WebhooksApi(api).list_webhooks().webhooks]))
`;

const openApiGeneratorPython: MakeClient = async (folder) => {
  needs("java");
  const own = ["urllib3", "python-dateutil", "pydantic>=2", "typing-extensions", "lazy-imports"];
  const bin = await python(folder, [OPENAPI_GENERATOR, ...own]);
  await openApiGenerator(folder, bin, "python", ["--package-name", "gateway"]);
  await write(folder, { "client/use.py": PYTHON_OF_OPENAPI_GENERATOR });
  return (env) => run(join(bin, "python"), [join(folder, "client", "use.py")], withEnv(env));
};

const TYPESCRIPT_FETCH = `
import { Configuration, TransactionsApi, WebhooksApi } from "./client";

export async function step(e: Record<string, string>): Promise<unknown> {
  const configuration = new Configuration({ basePath: e.GATEWAY, accessToken: e.KEY });
  const transactions = new TransactionsApi(configuration);
  if (e.STEP === "prepare") {
    const { DEVICE: deviceHash, MERCHANT: merchant, ASSET: asset, AMOUNT: amount } = e;
    const operation = { kind: "authorize" as const, deviceHash, merchant, asset, amount };
    const prepared = await transactions.prepareTransaction({ prepareRequest: { source: e.SOURCE, operation } });
    return prepared.xdr;
  }
  if (e.STEP === "submit") {
    return (await transactions.submitTransaction({ submitRequest: { xdr: e.XDR } })).hash;
  }
  return (await new WebhooksApi(configuration).listWebhooks()).webhooks.map(({ url }) => url);
}
`;

const openApiGeneratorTypeScript: MakeClient = async (folder) => {
  needs("java");
  const bin = await python(folder, [OPENAPI_GENERATOR]);
  await openApiGenerator(folder, bin, "typescript-fetch", []);
  return await typeScript(folder, TYPESCRIPT_FETCH);
};

const OPENAPI_TYPESCRIPT = `
import type { components, paths } from "./client/index.ts";
type Schemas = components["schemas"];

export async function step(e: Record<string, string>): Promise<unknown> {
  async function call<T>(method: string, path: keyof paths, body?: unknown): Promise<T> {
    const headers = { authorization: "Bearer " + e.KEY, "content-type": "application/json" };
    const answer = await fetch(e.GATEWAY + path, { method, headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(((await answer.json()) as Schemas["Error"]).error.message);
    return await answer.json() as T;
  }
  if (e.STEP === "prepare") {
    const { DEVICE: deviceHash, MERCHANT: merchant, ASSET: asset, AMOUNT: amount } = e;
    const operation: Schemas["Operation"] = { kind: "authorize", deviceHash, merchant, asset, amount };
    const body: Schemas["PrepareRequest"] = { source: e.SOURCE, operation };
    return (await call<Schemas["PreparedTransaction"]>("POST", "/v1/transactions/prepare", body)).xdr;
  }
  if (e.STEP === "submit") {
    return (await call<Schemas["SubmittedTransaction"]>("POST", "/v1/transactions/submit", { xdr: e.XDR })).hash;
  }
  return (await call<Schemas["WebhookList"]>("GET", "/v1/webhooks")).webhooks.map(({ url }) => url);
}
`;

const openApiTypeScript: MakeClient = async (folder) => {
  const document = await import(join(folder, "openapi.json"), { with: { type: "json" } });
  await write(folder, { "client/index.ts": astToString(await openapiTS(document.default as OpenAPI3)) });
  return await typeScript(folder, OPENAPI_TYPESCRIPT);
};

/** Type checks `client/index.ts` and the program, and runs it in this process. */
async function typeScript(folder: string, use: string): Promise<Steps> {
  await write(folder, { "use.ts": use });
  const { typeProblems } = await import("./type_problems.ts");
  const problems = typeProblems([join(folder, "use.ts"), join(folder, "client", "index.ts")]);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const { step } = await import(join(folder, "use.ts"));
  return async (env) => JSON.stringify(await step(env));
}

const PYTHON_OF_OPENAPI_PYTHON_CLIENT = `
import json, os
from client import AuthenticatedClient, models
from client.api.transactions import prepare_transaction, submit_transaction
from client.api.webhooks import list_webhooks
e = os.environ
client = AuthenticatedClient(base_url=e["GATEWAY"], token=e["KEY"])
if e["STEP"] == "prepare":
    pay = models.AuthorizeOperation(
        kind="authorize", device_hash=e["DEVICE"], merchant=e["MERCHANT"], asset=e["ASSET"], amount=e["AMOUNT"])
    print(json.dumps(prepare_transaction.sync(
        client=client, body=models.PrepareRequest(source=e["SOURCE"], operation=pay)).xdr))
elif e["STEP"] == "submit":
    print(json.dumps(submit_transaction.sync(client=client, body=models.SubmitRequest(xdr=e["XDR"])).hash_))
else:
    print(json.dumps([one.url for one in list_webhooks.sync(client=client).webhooks]))
`;

const openApiPythonClient: MakeClient = async (folder) => {
  const bin = await python(folder, ["openapi-python-client==0.29.1"]);
  const args = ["generate", "--path", join(folder, "openapi.json"), "--meta", "none", "--output-path"];
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  await run(join(bin, "openapi-python-client"), [...args, join(folder, "client"), "--fail-on-warning"], { env });
  await write(folder, { "use.py": PYTHON_OF_OPENAPI_PYTHON_CLIENT });
  return (own) => run(join(bin, "python"), [join(folder, "use.py")], withEnv(own));
};

const OAPI_CODEGEN = "github.com/oapi-codegen/oapi-codegen/v2";
const GO_MOD = `module sample

go 1.25.0

require (
	${OAPI_CODEGEN} v2.8.2
	github.com/oapi-codegen/runtime v1.9.0
)

tool ${OAPI_CODEGEN}/cmd/oapi-codegen
`;
/** Without `skip-prune` it drops the schemas that only a delivery has, and then uses them. */
const OAPI_CODEGEN_YAML = `package: gateway
output: gateway/gateway.go
generate: { models: true, client: true }
output-options: { skip-prune: true }
`;
const MAIN_GO = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"sample/gateway"
)

func main() {
	ctx, e := context.Background(), os.Getenv
	asKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+e("KEY"))
		return nil
	}
	client, err := gateway.NewClientWithResponses(e("GATEWAY"), gateway.WithRequestEditorFn(asKey))
	check(err)
	var answer any
	switch e("STEP") {
	case "prepare":
		var operation gateway.Operation
		check(operation.FromAuthorizeOperation(gateway.AuthorizeOperation{
			Kind: "authorize", DeviceHash: e("DEVICE"), Merchant: e("MERCHANT"), Asset: e("ASSET"), Amount: e("AMOUNT"),
		}))
		body := gateway.PrepareRequest{Source: e("SOURCE"), Operation: operation}
		prepared, err := client.PrepareTransactionWithResponse(ctx, &gateway.PrepareTransactionParams{}, body)
		check(err)
		answer = prepared.JSON200.Xdr
	case "submit":
		body := gateway.SubmitRequest{Xdr: e("XDR")}
		submitted, err := client.SubmitTransactionWithResponse(ctx, &gateway.SubmitTransactionParams{}, body)
		check(err)
		answer = submitted.JSON200.Hash
	default:
		listed, err := client.ListWebhooksWithResponse(ctx)
		check(err)
		urls := []string{}
		for _, one := range listed.JSON200.Webhooks {
			urls = append(urls, one.Url)
		}
		answer = urls
	}
	text, err := json.Marshal(answer)
	check(err)
	fmt.Print(string(text))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`;

const oapiCodegen: MakeClient = async (folder) => {
  needs("go");
  const files = { "go.mod": GO_MOD, "main.go": MAIN_GO, "gateway/doc.go": "package gateway\n" };
  await write(folder, { ...files, "oapi-codegen.yaml": OAPI_CODEGEN_YAML });
  const env = { ...process.env, GOFLAGS: "-mod=mod", GOWORK: "off", GOTOOLCHAIN: "local", CGO_ENABLED: "0" };
  const options = { cwd: folder, env };
  await fetchPackages("go", ["list", "-deps", `${OAPI_CODEGEN}/cmd/oapi-codegen`], options);
  await fetchPackages("go", ["list", "-deps", "github.com/oapi-codegen/runtime"], options);
  await run("go", ["tool", "oapi-codegen", "-config", "oapi-codegen.yaml", "openapi.json"], options);
  await run("go", ["build", "-gcflags=all=-N -l", "-o", "main", "."], options);
  return (own) => run(join(folder, "main"), [], withEnv(own));
};

/** The client of each generator, by its name. */
export const CLIENTS: Record<string, MakeClient> = {
  "openapi-typescript": openApiTypeScript,
  "openapi-python-client": openApiPythonClient,
  "oapi-codegen for Go": oapiCodegen,
  "openapi-generator for Python": openApiGeneratorPython,
  "openapi-generator for TypeScript": openApiGeneratorTypeScript,
};
