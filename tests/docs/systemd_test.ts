// needs: once
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ENV_PREFIX, SETTINGS } from "../../lib/config.ts";
import { isInstalled, readDoc, replaceEach, run } from "./tools.ts";

const unit = readDoc("gateway.service");

test("the unit waits for a stop longer than the longest submit takes, and sets only existing settings", () => {
  const stopSeconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]);
  assert.ok(stopSeconds * 1000 > Number(SETTINGS.submitTimeoutMs.standard) + 45_000);
  const known = Object.values(SETTINGS).map(({ env }) => ENV_PREFIX + env);
  for (const [, name] of unit.matchAll(/^Environment=(\w+)=/gm)) {
    assert.ok(known.includes(name!), `${name} is no setting`);
  }
});

test("the unit restarts the gateway after any number of failed starts, but not after an invalid setting", () => {
  // Otherwise systemd gives up after five starts within ten seconds: a database that is away for eight would be enough.
  assert.match(unit, /^\[Unit\]\n(?:(?!\[).*\n)*StartLimitIntervalSec=0$/m);
  assert.match(unit, /^Restart=always$/m);
  assert.match(unit, /^RestartPreventExitStatus=2$/m);
});

test("the unit gives the gateway no capability, device or new privilege, and makes only its store writable", () => {
  const lines = unit.split("\n");
  for (const name of ["CapabilityBoundingSet", "AmbientCapabilities"]) assert.ok(lines.includes(`${name}=`), name);
  for (
    const name of ["NoNewPrivileges", "PrivateDevices", "PrivateTmp", "PrivateUsers", "PrivateMounts", "ProtectHome"]
  ) {
    assert.ok(lines.includes(`${name}=yes`), name);
  }
  assert.ok(lines.includes("ProtectSystem=strict") && lines.includes("StateDirectory=gateway"));
  assert.deepEqual(lines.filter((line) => /^(ReadWritePaths|BindPaths|DeviceAllow)=/.test(line)), []);
});

test("a shell reads the page's example line of settings with its exact value", () => {
  const [, name, value] = /^(SERVICE_API_\w+)=(.*)$/m.exec(readDoc("systemd.md"))!;
  const reading = `set -eu\n${name}=${value}\nprintf %s "$${name}"`;
  assert.equal(run("sh", ["-c", reading]), "Public Global Stellar Network ; September 2015");
});

test("a second run of the page's commands keeps the settings", () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-settings-"));
  try {
    const file = join(folder, "gateway.env");
    const line = /^.*\/dev\/null \/etc\/gateway\.env/m.exec(readDoc("systemd.md"))![0];
    const making = line.replaceAll("/etc/gateway.env", file);
    run("sh", ["-c", making]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    writeFileSync(file, "SERVICE_API_LOG_LEVEL='warn'\n");
    run("sh", ["-c", making]);
    assert.equal(readFileSync(file, "utf8"), "SERVICE_API_LOG_LEVEL='warn'\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the files that the page installs exist at the paths that the page names", () => {
  const sources = [...readDoc("systemd.md").matchAll(/^install -m \d+ (\S+) /gm)].map(([, source]) => source!);
  assert.equal(sources.length, 2);
  for (const source of sources) {
    const isThere = existsSync(fileURLToPath(new URL(`../../${source}`, import.meta.url).href));
    assert.ok(isThere || source === "dist/gateway", source);
  }
});

test("the page's move to PostgreSQL changes the unit's settings and starts the gateway only after a successful copy", () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-moved-"));
  try {
    const file = join(folder, "gateway.env");
    const [, moving] = /```sh\n(systemctl stop gateway [\s\S]*?)```/.exec(readDoc("postgres.md"))!;
    const lines = moving!.replaceAll("/etc/gateway.env", file).replaceAll("…", "hush $1");
    const move = (copied: number) =>
      run("sh", ["-c", `systemctl() { echo "systemctl $*"; }; runuser() { return ${copied}; }\n${lines}\ntrue`]);
    assert.equal(move(1), "systemctl stop gateway\n");
    assert.equal(existsSync(file), false);
    assert.equal(move(0), "systemctl stop gateway\nsystemctl start gateway\n");
    assert.equal(
      run("sh", ["-c", `set -eu; . ${file}; printf '%s ' "$PGPASSWORD" "$SERVICE_API_STORE"`]),
      "hush $1 postgres://gateway@db.example.com/gateway?sslmode=verify-full ",
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the pages run commands on the unit's store as its owner, because a lock of root's blocks the gateway", () => {
  const commands = ["postgres.md", "systemd.md"].flatMap((page) =>
    [...readDoc(page).matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.split("\n"))
  ).filter((line) => /gateway (store|keygen|doctor|backup) /.test(line) && line.includes("/var/lib/gateway/"));
  assert.ok(commands.length >= 2);
  for (const command of commands) {
    assert.match(command, /^(as_gateway|runuser -u gateway -- \/usr\/local\/bin\/gateway) /);
  }
});

describe("systemd-analyze", () => {
  if (!isInstalled("systemd-analyze")) return void test("is not on this machine", { skip: true });
  let folder: string;
  let file: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "gateway-unit-"));
    file = join(folder, "gateway.service");
    // Verifying asks for the executable itself.
    writeFileSync(file, replaceEach(unit, [["ExecStart=/usr/local/bin/gateway", "ExecStart=/bin/true"]]));
  });
  after(() => rmSync(folder, { recursive: true }));

  test("accepts the unit without a warning", () => {
    assert.equal(run("systemd-analyze", ["verify", file]), "");
  });

  test("rates the unit's exposure as low as the page states", () => {
    const most = Number(/rates it (\d\.\d) of 10 or less/.exec(readDoc("systemd.md"))![1]);
    assert.ok(most <= 1.5);
    const rated = run("systemd-analyze", [
      "security",
      "--offline=true",
      "--no-pager",
      `--threshold=${most * 10}`,
      file,
    ]);
    assert.match(rated, /Overall exposure level for gateway\.service: \d\.\d OK/);
  });
});
