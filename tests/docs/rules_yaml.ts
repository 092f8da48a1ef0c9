type Yaml = string | Yaml[] | { [key: string]: Yaml };

interface Line {
  indent: number;
  text: string;
  number: number;
}

/**
 * Reads the small part of YAML that docs/alerts.yml keeps to: block maps and lists, one-line maps in braces, plain and
 * double-quoted texts on one line, comments on lines of their own. Anything else throws with its line.
 */
export function parseRulesYaml(text: string): Yaml {
  const lines = text.split("\n")
    .map((line, index): Line => ({ indent: line.search(/\S/), text: line.trim(), number: index + 1 }))
    .filter((line) => line.text !== "" && !line.text.startsWith("#"));
  const parsed = block(lines, 0);
  if (lines.length > 0) fail(lines[0]!, "is indented wrongly");
  return parsed;
}

function fail(line: Line, what: string): never {
  throw new SyntaxError(`line ${line.number} ${what}: ${line.text}`);
}

function block(lines: Line[], indent: number): Yaml {
  const first = lines[0];
  if (first === undefined || first.indent !== indent) throw new SyntaxError("a value is missing");
  return first.text.startsWith("- ") ? list(lines, indent) : map(lines, indent);
}

function list(lines: Line[], indent: number): Yaml[] {
  const items: Yaml[] = [];
  while (lines[0]?.indent === indent && lines[0].text.startsWith("- ")) {
    // The dash counts as indentation of what stands behind it.
    lines[0] = { ...lines[0], indent: indent + 2, text: lines[0].text.slice(2) };
    items.push(map(lines, indent + 2));
  }
  return items;
}

function map(lines: Line[], indent: number): { [key: string]: Yaml } {
  const entries: { [key: string]: Yaml } = {};
  while (lines[0]?.indent === indent && !lines[0].text.startsWith("- ")) {
    const line = lines.shift()!;
    const [, key, rest] = /^([A-Za-z_]+):(?: (.*))?$/.exec(line.text) ?? fail(line, "is no key and value");
    if (key! in entries) fail(line, "repeats a key");
    entries[key!] = rest === undefined ? block(lines, lines[0]?.indent ?? -1) : scalarOrBraces(line, rest);
  }
  return entries;
}

function scalarOrBraces(line: Line, text: string): Yaml {
  const braces = /^\{ (.*) \}$/.exec(text)?.[1];
  if (braces === undefined) return scalar(line, text);
  return Object.fromEntries(
    braces.split(", ").map((pair) => {
      const [, key, value] = /^([a-z_]+): (\S+)$/.exec(pair) ?? fail(line, "has bad braces");
      return [key!, scalar(line, value!)];
    }),
  );
}

function scalar(line: Line, text: string): string {
  if (text.startsWith('"')) return JSON.parse(text) as string;
  if (/^[`'@&*!|>%{}[\]#]|: | #|:$/.test(text)) fail(line, "needs quotes");
  return text;
}
