import process from "node:process";
import { runCommandLine } from "./cli/command_line.ts";
import { processIo } from "./cli/process_io.ts";
import { bypassProxyForLoopback } from "./lib/runtime/proxy.ts";

bypassProxyForLoopback();
process.exitCode = await runCommandLine(process.argv.slice(2), processIo());
