// needs: once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { before, test } from "node:test";
import { isInstalled, readDoc } from "./tools.ts";
import { folderForTests } from "../folder.ts";

/** What the page has done in the folder before Docker is called. */
const preparing = /umask 077\n[\s\S]*?(?=compose up -d\n)/.exec(readDoc("container.md"))![0];

const folder = folderForTests();
before(() => {
  for (const name of ["gateway.pem", "haproxy.cfg"]) writeFileSync(join(folder, name), "");
});

const prepare = () => spawnSync("sh", ["-c", preparing], { cwd: folder });

test("HAProxy, which is user 99 in its image, may read the private key, and no other user", (t) => {
  if (process.getuid?.() !== 0) return t.skip("needs root");
  prepare();
  const { uid, mode } = statSync(join(folder, "gateway.pem"));
  assert.deepEqual([uid, mode & 0o777], [99, 0o600]);
  assert.equal(statSync(join(folder, "haproxy.cfg")).mode & 0o777, 0o644);
});

test("who runs the page's lines again, as for another image, keeps the database's password and the secrets key", (t) => {
  if (!isInstalled("openssl")) return t.skip("needs openssl");
  prepare();
  const settings = readFileSync(join(folder, "gateway.env"), "utf8");
  assert.match(settings, /^PGPASSWORD=[0-9a-f]{48}\nSERVICE_API_SECRETS_KEY=\S{44}\n$/);
  prepare();
  assert.equal(readFileSync(join(folder, "gateway.env"), "utf8"), settings);
  assert.equal(statSync(join(folder, "gateway.env")).mode & 0o777, 0o600);
});

test("an update goes on to the second gateway only where the first, with the new image, is well", () => {
  const [, updating] = /^# Another image: .*\n([\s\S]*?)^```$/m.exec(readDoc("container.md"))!;
  const told = join(folder, "told");
  /** What Docker was asked to do, where commands in these containers fail. */
  const updated = (broken: string): string[] => {
    writeFileSync(told, "");
    const docker = `#!/bin/sh\necho "$*" >> ${told}\ncase "$*" in *" exec "*${broken}*) exit 1 ;; esac\n`;
    for (const [name, text] of [["docker", docker], ["sleep", "#!/bin/sh\n"]] as const) {
      writeFileSync(join(folder, name), text);
      chmodSync(join(folder, name), 0o755);
    }
    const [compose] = /^compose\(\) .*$/m.exec(preparing)!;
    spawnSync("sh", ["-c", `${compose}\n${updating}`], { env: { PATH: `${folder}:/usr/bin:/bin` } });
    return [...readFileSync(told, "utf8").matchAll(/ up -d --no-deps (\S+)$/gm)].map(([, service]) => service!);
  };
  assert.deepEqual(updated("nowhere"), ["gateway-1", "gateway-2"]);
  assert.deepEqual(updated("gateway-1"), ["gateway-1"]);
});
