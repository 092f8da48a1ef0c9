// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { ENV_PREFIX, SETTINGS } from "../../lib/config.ts";
import { readDoc } from "./tools.ts";

/** The instructions, continued lines joined. */
const instructions = readDoc("Dockerfile").replace(/\\\n/g, " ").split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => {
    const [, name, args] = /^([A-Z]+) (.+)$/.exec(line) ?? assert.fail(`no instruction: ${line}`);
    return { name: name!, args: args! };
  });
const only = (name: string): string => {
  const found = instructions.filter((one) => one.name === name);
  assert.equal(found.length, 1, `one ${name}`);
  return found[0]!.args;
};

test("the Dockerfile copies the executable and runs it as an unprivileged user in the volume's folder", () => {
  assert.equal(instructions[0]!.name, "FROM");
  const [source, target] = only("COPY").split(" ");
  assert.equal(source, "gateway", "what ./compile.sh leaves in dist");
  assert.deepEqual(JSON.parse(only("ENTRYPOINT")), [target]);
  assert.deepEqual(JSON.parse(only("CMD")), ["serve"]);
  assert.match(only("USER"), /^[1-9]\d*:[1-9]\d*$/);
  assert.equal(only("VOLUME"), only("WORKDIR"));
});

test("the Dockerfile exposes the default port and sets only existing settings", () => {
  assert.equal(only("EXPOSE"), SETTINGS.port.standard);
  const known = Object.values(SETTINGS).map(({ env }) => ENV_PREFIX + env);
  for (const { args } of instructions.filter(({ name }) => name === "ENV")) {
    assert.ok(known.includes(args.split("=")[0]!), `${args} is no setting`);
  }
});

test("the containers of the pages limit the size of their logs", () => {
  const [command] = /^docker run (?:.*\\\n)*.*$/m.exec(readDoc("container.md"))!;
  assert.match(command, / --log-opt max-size=\d+m --log-opt max-file=\d+ /);
  const compose = readDoc("compose.yaml");
  assert.match(
    compose,
    /^x-logging: &logging\n {2}driver: local\n {2}options: \{ max-size: \d+m, max-file: "\d+" \}$/m,
  );
  const images = [...compose.matchAll(/^ +image: .+\n(.+)$/mg)];
  assert.equal(images.length, 3);
  for (const [, next] of images) assert.match(next!, /^ +logging: \*logging$/);
});

test("Docker restarts the page's container after a crash or reboot, and gives it enough time to stop", () => {
  const [command] = /^docker run (?:.*\\\n)*.*$/m.exec(readDoc("container.md"))!;
  assert.match(command, / --restart unless-stopped /);
  const stopSeconds = Number(/ --stop-timeout (\d+) /.exec(command)![1]);
  assert.ok(stopSeconds * 1000 > Number(SETTINGS.submitTimeoutMs.standard) + 45_000);
  assert.ok(command.includes(` -v gateway:${only("WORKDIR")} `));
});

test("every gateway of the recipes has a read-only root file system, no capability and no way to gain privileges", () => {
  const [command] = /^docker run (?:.*\\\n)*.*$/m.exec(readDoc("container.md"))!;
  for (const flag of ["--read-only", "--cap-drop ALL", "--security-opt no-new-privileges"]) {
    assert.ok(command.includes(` ${flag} `), flag);
  }
  const [, gateways] = /^x-gateway: &gateway\n((?: .*\n)+)/m.exec(readDoc("compose.yaml"))!;
  for (const line of ["read_only: true", "cap_drop: [ALL]", 'security_opt: ["no-new-privileges:true"]']) {
    assert.ok(gateways!.includes(`\n  ${line}\n`), line);
  }
  assert.match(readDoc("compose.yaml"), /^ {2}gateway-1: \*gateway\n\n {2}gateway-2: \*gateway$/m);
  const manifest = readDoc("kubernetes.yaml");
  assert.match(manifest, /^ {6}securityContext:\n {8}runAsNonRoot: true\n/m);
  const [, container] = /^ {10}securityContext:\n((?: {12}.*\n)+)/m.exec(manifest)!;
  assert.deepEqual(container!.trim().split("\n").map((line) => line.trim()).sort(), [
    "allowPrivilegeEscalation: false",
    "capabilities: { drop: [ALL] }",
    "readOnlyRootFilesystem: true",
  ]);
  assert.doesNotMatch(manifest, /privileged: true|hostNetwork|hostPID|hostPath/);
});
