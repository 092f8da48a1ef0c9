import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { cpuMicroseconds } from "./processes.ts";

export interface Load {
  requestsPerSecond: number;
  /** Of the server, per request. */
  cpuMicroseconds: number;
  p99Ms: number;
}

export interface LoadTarget {
  url: string;
  /** Process that serves it. */
  pid: number;
  headers: Record<string, string>;
  /** Bytes of one whole answer, smallest and largest: the headers count down. */
  answerBytes: { min: number; max: number };
}

const REPORT = `
done = function(summary, latency, requests)
  io.stderr:write(string.format('{"requests":%d,"microseconds":%d,"bytes":%d,"errors":%d,"p99":%d}\\n', summary.requests,
    summary.duration, summary.bytes, summary.errors.connect + summary.errors.read + summary.errors.write +
    summary.errors.status + summary.errors.timeout, latency:percentile(99)))
end`;

const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
const report = join(folder, "report.lua");
writeFileSync(report, REPORT);

/**
 * Loads a server with wrk from another CPU: 64 keep-alive connections. Void (throws) when an answer was an error or of
 * another length than the right one.
 */
export async function load(target: LoadTarget, seconds: number): Promise<Load> {
  const headers = Object.entries(target.headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const before = cpuMicroseconds(target.pid);
  const { stderr } = await promisify(execFile)("taskset", [
    ...["-c", "1", "wrk", "-t", "1", "-c", "64", "-d", `${seconds}s`, "-s", report, ...headers, target.url],
  ]);
  const cpu = cpuMicroseconds(target.pid) - before;
  const said = JSON.parse(stderr) as {
    requests: number;
    microseconds: number;
    bytes: number;
    errors: number;
    p99: number;
  };
  const bytesEach = said.bytes / said.requests;
  const { min, max } = target.answerBytes;
  // wrk counts what it read of answers that were cut off at the end: 64 of them at most.
  const slack = (64 * max) / said.requests;
  if (said.errors > 0 || bytesEach < min || bytesEach > max + slack) {
    throw new Error(`void: ${said.errors} errors, ${bytesEach.toFixed(1)} bytes an answer, not ${min} to ${max}`);
  }
  return {
    requestsPerSecond: said.requests / (said.microseconds / 1_000_000),
    cpuMicroseconds: cpu / said.requests,
    p99Ms: said.p99 / 1000,
  };
}
