import assert from "node:assert/strict";
import { test } from "node:test";
import { readDoc } from "./tools.ts";

test("what the pages have root do to the unit's store is done as its owner: a lock of root's would keep the gateway out", () => {
  const commands = ["postgres.md", "systemd.md"].flatMap((page) =>
    [...readDoc(page).matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.split("\n"))
  ).filter((line) => /gateway (store|keygen|doctor|backup) /.test(line) && line.includes("/var/lib/gateway/"));
  assert.ok(commands.length >= 2);
  for (const command of commands) {
    assert.match(command, /^(as_gateway|runuser -u gateway -- \/usr\/local\/bin\/gateway) /);
  }
});
