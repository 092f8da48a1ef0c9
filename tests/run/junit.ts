/** One test, as a runtime's JUnit report has it. */
export interface TestResult {
  /** Relative to the root; empty where the report does not say. */
  file: string;
  name: string;
  seconds: number;
  state: "passed" | "failed" | "skipped";
  /** Message and stack of a failed test. */
  why: string;
}

const CASE = /<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;

/**
 * Reads the JUnit report of `bun test` or `deno test`. Deno reports a group as a test beside its own tests, and tests of
 * a group without their file: groups are left out here, and their tests get the file of the group.
 */
export function readJunit(xml: string): TestResult[] {
  const cases = [...xml.matchAll(CASE)].map(([, attributes = "", inner = ""]) => readCase(attributes, inner));
  const fileOfTop = new Map<string, string>();
  const groups = new Set<string>();
  for (const { name, file } of cases) {
    if (file !== "") fileOfTop.set(name, file);
    for (let at = name.lastIndexOf(" > "); at > 0; at = name.lastIndexOf(" > ", at - 1)) groups.add(name.slice(0, at));
  }
  return cases
    .filter(({ name, isDeno }) => !isDeno || !groups.has(name))
    .map(({ isDeno: _, ...result }) => ({ ...result, file: result.file || fileOfGroup(result.name, fileOfTop) }));
}

/** Milliseconds that each file took by a report of `deno test`; Bun keeps such times itself. */
export function denoTimes(xml: string): Record<string, number> {
  const times: Record<string, number> = {};
  for (const [, file, seconds] of xml.matchAll(/classname="\.\/([^"]+)" time="([^"]+)"/g)) {
    times[file!] = (times[file!] ?? 0) + Math.round(Number(seconds) * 1000);
  }
  return times;
}

function readCase(attributes: string, inner: string): TestResult & { isDeno: boolean } {
  const attribute = (name: string) => plain(new RegExp(`(?:^| )${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
  const group = attribute("classname");
  const isDeno = !/(^| )file="/.test(attributes);
  const isBunGroup = !isDeno && group !== "";
  return {
    isDeno,
    file: isDeno ? group.replace(/^ext:.*$/, "").replace(/^\.\//, "") : attribute("file"),
    name: isBunGroup ? `${group} > ${attribute("name")}` : attribute("name"),
    seconds: Number(attribute("time")),
    state: /<(failure|error)[ >/]/.test(inner) ? "failed" : /<skipped/.test(inner) ? "skipped" : "passed",
    why: plain(/<(?:failure|error)[^>]*>([\s\S]*?)<\//.exec(inner)?.[1] ?? ""),
  };
}

function fileOfGroup(name: string, fileOfTop: Map<string, string>): string {
  const parts = name.split(" > ");
  for (let length = 1; length <= parts.length; length++) {
    const file = fileOfTop.get(parts.slice(0, length).join(" > "));
    if (file !== undefined) return file;
  }
  return "";
}

const ENTITIES: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };

function plain(text: string): string {
  return text.replace(/&(#x?[0-9a-f]+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return ENTITIES[name] ?? whole;
    return String.fromCodePoint(Number(name[1] === "x" ? `0${name.slice(1)}` : name.slice(1)));
  });
}
