import { readFileSync } from "node:fs";

/*
 * Bun ends a test after five seconds, which a busy machine may take for starting a process; Deno has no such limit. What
 * would set another for all is read from the command line only, and forgotten after the first file when it is called here:
 * so each file of tests is made to call it, in its first line.
 */
const CALL = 'import { setDefaultTimeout } from "bun:test"; setDefaultTimeout(600_000); ';

Bun.plugin({
  name: "slow machines",
  setup({ onLoad }) {
    onLoad({ filter: /_test\.ts$/ }, ({ path }) => ({ contents: CALL + readFileSync(path, "utf8"), loader: "ts" }));
  },
});
