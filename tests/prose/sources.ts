import ts from "typescript";
import type { Block } from "./rules.ts";

const ITEM = /^\s*(?:[-*+]|\d+\.)\s+/;

/** The paragraphs, list items, headings and table cells of a Markdown file, without its code. */
export function blocksOfMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  let [open, isCode]: [Block | undefined, boolean] = [undefined, false];
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.replace(/^\s*>\s?/, "");
    const isFence = /^\s*(```|~~~)/.test(line);
    if (isFence) isCode = !isCode;
    if (isCode || isFence || line.trim() === "" || /^\s*(<!--|\|[\s:|-]+\|$)/.test(line)) open = undefined;
    else if (line.startsWith("|")) {
      blocks.push(...line.split(/(?<!\\)\|/).map((cell) => ({ text: cell, line: index + 1, isCell: true })));
    } else if (open !== undefined && !ITEM.test(line) && !line.startsWith("#")) open.text += `\n${line}`;
    else {
      blocks.push({ text: line.replace(ITEM, "").replace(/^#+\s*/, ""), line: index + 1 });
      open = line.startsWith("#") ? undefined : blocks.at(-1);
    }
  }
  return blocks;
}

const SQL = /^\s*\(?\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|BEGIN|FROM|WHERE)\b/;
const isProse = (text: string) => /[a-z]+ [a-z]+ [a-z]+/i.test(text) && !SQL.test(text) && !text.startsWith("<");

/** The comments of a TypeScript file, and its strings that people read: help, messages, descriptions. */
export function blocksOfTypeScript(path: string, text: string): Block[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const lineAt = (position: number) => file.getLineAndCharacterOfPosition(position).line + 1;
  const blocks: Block[] = [];
  const seen = new Set<number>();
  let last = { line: -2, block: { text: "", line: 0 } };

  function addComment(raw: string, line: number): void {
    if (raw.startsWith("//")) {
      const words = raw.slice(2).trim();
      // Lines of comment that follow one another are one text.
      if (last.line === line - 1) {
        last = { line, block: Object.assign(last.block, { text: `${last.block.text} ${words}` }) };
      } else blocks.push((last = { line, block: { text: words, line } }).block);
      return;
    }
    const body = raw.slice(2, -2).replace(/^\s*\*+ ?/gm, "").replace(/^\*/, "");
    for (const part of body.split(/\n\s*\n|\n(?=@|\s*[-|] )/)) {
      // A drawing is no text.
      if (/[─│►└├▲]/.test(part)) continue;
      blocks.push({
        text: part.replace(/^\s*(@\w+( \{[^}]*\})?|-)\s*/, ""),
        line,
        isCell: part.trim().startsWith("|"),
      });
    }
  }

  function addString(node: ts.Node, value: string): void {
    if (!isProse(value)) return;
    blocks.push(
      ...value.split(/\n\s*\n|\n(?=\s*[-*] )/).map((part) => ({ text: part, line: lineAt(node.getStart()) })),
    );
  }

  (function visit(node: ts.Node): void {
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      if (!seen.has(pos)) addComment(text.slice(pos, end), lineAt(pos));
      seen.add(pos);
    }
    if (ts.isStringLiteralLike(node)) addString(node, node.text);
    if (ts.isTemplateExpression(node)) {
      addString(node, node.head.text + node.templateSpans.map(({ literal }) => `Value${literal.text}`).join(""));
    }
    ts.forEachChild(node, visit);
  })(file);
  return blocks;
}
