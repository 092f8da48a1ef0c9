import { setDefaultTimeout } from "bun:test";

// Bun ends a test after five seconds, which a busy machine may take for starting a process. Deno has no such limit.
// Bun forgets this after the first file of a run without --parallel, which is why tests/run.sh says --timeout, too.
setDefaultTimeout(120_000);
