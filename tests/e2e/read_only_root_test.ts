// needs: long, once
import { execFileSync } from "node:child_process";
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { startServe } from "../faults/serve_process.ts";
import { longOnly } from "../tier.ts";
import { compileExecutable } from "./compiled.ts";
import { flagsFor, makeKey, startSandbox } from "./sandbox_process.ts";
import { tellStory } from "./story.ts";

/** The user of the recipes. */
const USER = 65_532;
/**
 * As the recipes for containers have it: a root file system that cannot be written, apart from the store's folder ($1), no
 * capability, no way to privileges, a user of no name.
 */
const CONFINED = [
  'store=$1; shift; mount --make-rprivate / && mount --bind "$store" "$store" && mount -o remount,bind,ro /',
  `exec setpriv --reuid ${USER} --regid ${USER} --clear-groups --inh-caps -all --bounding-set -all --no-new-privs "$@"`,
].join(" && ");
const confined = (store: string, ...command: string[]) => [
  ...["unshare", "--mount", "sh", "-c", CONFINED, "sh", store],
  ...command,
];

/** Whether this machine lets the test make such a root, and its temporary files lie in it. */
function canConfine(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "gateway-confined-"));
  try {
    chmodSync(folder, 0o777);
    const [program, ...args] = confined(folder, "sh", "-c", `touch ${folder}/a && ! touch ${dirname(folder)}/a 2>&-`);
    execFileSync(program!, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a gateway without capabilities that can write only its store's folder serves the whole life of a card", {
  skip: longOnly || !canConfine() && "needs root, unshare and setpriv",
}, async () => {
  const { folder, gateway: executable } = await compileExecutable();
  after(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const home = mkdtempSync(join(tmpdir(), "gateway-store-"));
  after(() => rmSync(home, { recursive: true, force: true }));
  chownSync(home, USER, USER);
  const sandbox = await startSandbox();
  after(() => sandbox.stop());
  const store = `sqlite:${join(home, "gateway.db")}`;
  const command = confined(home, executable);
  const apiKey = await makeKey(command, store, { scopes: "read,write,webhooks", rate: 10_000 });
  const gateway = await startServe(flagsFor(sandbox.info, { store }), { command });
  after(() => gateway.kill());
  await tellStory({ ...sandbox.info, gateway: gateway.url, apiKey });
  gateway.signal("SIGTERM");
  assert.equal(await gateway.ended, 0, gateway.log());
});
