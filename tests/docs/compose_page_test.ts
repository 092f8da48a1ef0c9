// needs: once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { before, test } from "node:test";
import { isInstalled, readDoc } from "./tools.ts";
import { folderForTests } from "../folder.ts";

/** The page's commands that prepare the folder before Docker runs. */
const preparing = /umask 077\n[\s\S]*?(?=compose up -d\n)/.exec(readDoc("container.md"))![0];

const folder = folderForTests();
before(() => {
  for (const name of ["gateway.pem", "haproxy.cfg"]) writeFileSync(join(folder, name), "");
});

const prepare = () => spawnSync("sh", ["-c", preparing], { cwd: folder });

test("only user 99, HAProxy's user in its image, may read the private key", (t) => {
  if (process.getuid?.() !== 0) return t.skip("needs root");
  prepare();
  const { uid, mode } = statSync(join(folder, "gateway.pem"));
  assert.deepEqual([uid, mode & 0o777], [99, 0o600]);
  assert.equal(statSync(join(folder, "haproxy.cfg")).mode & 0o777, 0o644);
});

test("a second run of the page's commands keeps the database password and the secrets key", (t) => {
  if (!isInstalled("openssl")) return t.skip("needs openssl");
  prepare();
  const settings = readFileSync(join(folder, "gateway.env"), "utf8");
  assert.match(settings, /^PGPASSWORD=[0-9a-f]{48}\nSERVICE_API_SECRETS_KEY=\S{44}\n$/);
  prepare();
  assert.equal(readFileSync(join(folder, "gateway.env"), "utf8"), settings);
  assert.equal(statSync(join(folder, "gateway.env")).mode & 0o777, 0o600);
});

test("an update replaces the second gateway only after the first one is healthy on the new image", () => {
  const [, updating] = /^# Another image: .*\n([\s\S]*?)^```$/m.exec(readDoc("container.md"))!;
  const calls = join(folder, "calls");
  /** The services that the page updates when commands in the container `broken` fail. */
  const updated = (broken: string): string[] => {
    writeFileSync(calls, "");
    const docker = `#!/bin/sh\necho "$*" >> ${calls}\ncase "$*" in *" exec "*${broken}*) exit 1 ;; esac\n`;
    for (const [name, text] of [["docker", docker], ["sleep", "#!/bin/sh\n"]] as const) {
      writeFileSync(join(folder, name), text);
      chmodSync(join(folder, name), 0o755);
    }
    const [compose] = /^compose\(\) .*$/m.exec(preparing)!;
    spawnSync("sh", ["-c", `${compose}\n${updating}`], { env: { PATH: `${folder}:/usr/bin:/bin` } });
    return [...readFileSync(calls, "utf8").matchAll(/ up -d --no-deps (\S+)$/gm)].map(([, service]) => service!);
  };
  assert.deepEqual(updated("nowhere"), ["gateway-1", "gateway-2"]);
  assert.deepEqual(updated("gateway-1"), ["gateway-1"]);
});
