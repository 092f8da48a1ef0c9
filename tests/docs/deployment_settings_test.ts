// needs: once
import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { ENV_PREFIX, SETTINGS } from "../../lib/config.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import { readDoc } from "./tools.ts";

/*
 * Checks these files without Docker and Kubernetes; deployment_files_test.ts checks them with the real parsers.
 */
const skip = "bun" in process.versions ? false : "only Bun reads YAML";

for (const name of ["compose.yaml", "kubernetes.yaml"]) {
  test(`${name} sets only existing settings, and a valid store`, () => {
    const text = readDoc(name);
    const known = Object.values(SETTINGS).map(({ env }) => ENV_PREFIX + env);
    const named = [...text.matchAll(/\b(?:SERVICE_API_\w+)/g)].map(([setting]) => setting);
    assert.ok(named.length >= 2);
    for (const setting of named) assert.ok(known.includes(setting), `${setting} is no setting`);
    const [store] = /postgres:\/\/\S+/.exec(text)!;
    assert.equal(parsePostgresSetting(store, { PGPASSWORD: "hush" }).password, "hush");
    assert.ok(text.includes("8787") === (name === "kubernetes.yaml"), "the standard port is not said twice");
  });
}

test("the Compose file is YAML with two identical read-only gateways, to which HAProxy forwards", {
  skip,
}, () => {
  const { services } = Bun.YAML.parse(readDoc("compose.yaml")) as { services: Record<string, { read_only?: boolean }> };
  assert.deepEqual(Object.keys(services).sort(), ["balancer", "gateway-1", "gateway-2", "postgres"]);
  assert.deepEqual(services["gateway-2"], services["gateway-1"]);
  assert.equal(services["gateway-1"]!.read_only, true);
  const targets = [...readDoc("haproxy.cfg").matchAll(/^ {2}server \S+ (\S+):8787$/gm)].map(([, target]) => target!);
  assert.deepEqual(targets, ["gateway-1", "gateway-2"]);
});

test(
  "the manifest is YAML with a deployment, a disruption budget and a service that select the same pods",
  { skip },
  () => {
    const parts = Bun.YAML.parse(readDoc("kubernetes.yaml")) as {
      kind: string;
      spec: { selector: { matchLabels?: object } };
    }[];
    assert.deepEqual(parts.map(({ kind }) => kind), ["Deployment", "PodDisruptionBudget", "Service"]);
    const [deployment, budget, service] = parts.map(({ spec: { selector } }) => selector.matchLabels ?? selector);
    assert.deepEqual([budget, service], [deployment, deployment]);
  },
);
