import { visible } from "../../lib/visible_text.ts";
import { hanging } from "../terminal/line_width.ts";

/** `warn` needs attention, with `fail` the gateway cannot work, `skip` could not be checked. */
export type Verdict = "ok" | "warn" | "fail" | "skip";

/** The result of one check. */
export interface Finding {
  check: string;
  verdict: Verdict;
  found: string;
  /** Advice. */
  todo?: string;
}

export function ok(check: string, found: string): Finding {
  return { check, verdict: "ok", found };
}

export function warn(check: string, found: string, todo: string): Finding {
  return { check, verdict: "warn", found, todo };
}

export function fail(check: string, found: string, todo: string): Finding {
  return { check, verdict: "fail", found, todo };
}

export function skip(check: string, why: string): Finding {
  return { check, verdict: "skip", found: why };
}

const VERDICT_WIDTH = 6;
/** The longest is "escrow's registries". */
const CHECK_WIDTH = 21;

/** A finding in lines of at most `room` characters: verdict, check and finding, and the advice under them. */
export function findingText({ check, verdict, found, todo }: Finding, room: number): string {
  const line = hanging(`${verdict.padEnd(VERDICT_WIDTH)}${check.padEnd(CHECK_WIDTH)}`, visible(found), room) + "\n";
  if (todo === undefined) return line;
  const arrow = `${" ".repeat(VERDICT_WIDTH + CHECK_WIDTH)}→ `;
  return `${line}${hanging(arrow, todo, room)}\n`;
}

/** `9 ok, 1 warning, 2 failed, 1 skipped`. */
export function summary(findings: Finding[]): string {
  const count = (verdict: Verdict) => findings.filter((finding) => finding.verdict === verdict).length;
  const [warnings, failed, skipped] = [count("warn"), count("fail"), count("skip")];
  return [
    `${count("ok")} ok`,
    ...(warnings === 0 ? [] : [`${warnings} ${warnings === 1 ? "warning" : "warnings"}`]),
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(skipped === 0 ? [] : [`${skipped} skipped`]),
  ].join(", ");
}

/** `12.3 MB`. */
export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
