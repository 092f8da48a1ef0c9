/** The next token that JSON allows. */
type Expected =
  | "a value"
  | "a value or ]"
  | "a name or }"
  | "a name"
  | "a colon"
  | "a comma or }"
  | "a comma or ]"
  | "nothing more";

const TOKEN =
  // deno-lint-ignore no-control-regex -- JSON strings must escape them
  /[{}[\],:]|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const BLANKS = /[ \t\n\r]*/y;

/**
 * The first error of a text that is not JSON (RFC 8259), for people: `a comma or } was expected at line 3, column 7`. The
 * parsers of the runtimes do not all report the position.
 */
export function jsonProblem(text: string): string {
  const open: string[] = [];
  let expected: Expected = "a value";
  let at = 0;
  while (true) {
    at = end(BLANKS, text, at) ?? at;
    const tokenEnd = end(TOKEN, text, at);
    const next: Expected | undefined = tokenEnd === undefined ? undefined : after(text[at]!, expected, open);
    if (at >= text.length && expected === "nothing more") return "it is nested too deeply";
    if (tokenEnd === undefined || next === undefined) return `${expected} was expected ${place(text, at)}`;
    expected = next;
    at = tokenEnd;
  }
}

/** The tokens that may follow a token with this first character; undefined for a token that is not expected here. */
function after(first: string, expected: Expected, open: string[]): Expected | undefined {
  const takesValue = expected === "a value" || expected === "a value or ]";
  const ended = (): Expected =>
    open.length === 0 ? "nothing more" : open.at(-1) === "{" ? "a comma or }" : "a comma or ]";
  switch (first) {
    case "{":
    case "[":
      if (!takesValue) return undefined;
      open.push(first);
      return first === "{" ? "a name or }" : "a value or ]";
    case "}":
    case "]":
      if (!expected.endsWith(` or ${first}`)) return undefined;
      open.pop();
      return ended();
    case ",":
      if (!expected.startsWith("a comma")) return undefined;
      return open.at(-1) === "{" ? "a name" : "a value";
    case ":":
      return expected === "a colon" ? "a value" : undefined;
    case '"':
      if (expected.startsWith("a name")) return "a colon";
      return takesValue ? ended() : undefined;
    default:
      return takesValue ? ended() : undefined;
  }
}

/** End of the match at this position, undefined for none. */
function end(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function place(text: string, at: number): string {
  if (at >= text.length) return "where the body ends";
  const lines = text.slice(0, at).split("\n");
  return `at line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}
