/** A run of text that a reader takes in at once: a paragraph, an item of a list, a message, a comment. */
export interface Block {
  text: string;
  line: number;
  /** A cell of a table: its sentences may be longer. */
  isCell?: boolean;
}

export interface Finding {
  line: number;
  problem: string;
  sentence: string;
}

const MAX_WORDS = 25;

/** Patterns that make a reader read twice, and what to write instead. */
const BANNED: [pattern: RegExp, instead: string][] = [
  [/^(what|whatever|who|whoever)\b(?=.*[.:]["')\]]*$)/i, "no clause as a subject: say who does what"],
  [/^(those|that|one|ones|all) (that|which|who|whom|whose|of which)\b/i, "name the noun"],
  [/\b(whoever|who asks|who calls|who reads|who has to|nobody)\b/i, "name the actor: client, gateway, node, operator"],
  [/\b(is|are|was|were|be|been|being) told\b/i, "say who reports it"],
  [/\b(is|are|was|were|be) (looked (at|after|for)|led back|let go|given up on|come to)\b/i, "active voice"],
  [/\b(tried|asked|read|sent|looked at|begun|done) (again|anew|on|once more)\b/i, "retry, repeat, resend"],
  [/\b(tells|says) (of|that|how|which|whether|what|so|when)\b/i, "reports, logs, returns"],
  [/\bin (its|their) place\b/i, "replacement"],
  [/\b(once more|anew)\b/i, "again"],
  [/\bfor good\b/i, "permanently"],
  [/\blaps(ed|es)\b/i, "expired"],
  [/\b(weighs|tidings|forgetting|another life|former network|anchor|second look|stands by)\b/i, "the field's word"],
  [/\b(belie(f|ves|ved)|courier|rival|haste|crumbs|given-up|vett(ing|ed))\b/i, "the field's word"],
  [/\bgather(s|ed|ing)?\b/i, "batch"],
  [/\bhand(s|ed)? over\b/i, "pass"],
];

/** The text with code, links and addresses as one word each. */
function plain(text: string): string {
  return text
    .replace(/<[^>]+>/g, " ")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/`[^`]*`/g, "Code")
    .replace(/\{@link ([^}]*)\}/g, "$1")
    .replace(/https?:\S+/g, "Address")
    .replace(/[*_]{1,2}(\S(?:.*?\S)?)[*_]{1,2}/g, "$1")
    .replace(/\b(e\.g|i\.e|etc|vs|No)\./g, "$1")
    .replace(/\s+/g, " ")
    .trim();
}

/** A sentence ends before a capital, a code word or a bracket. */
const SENTENCE_END = /(?<=[.!?]["')\]]*)\s+(?=[A-Z`"'([{$/_<])/;

/** Each place in a block that breaks a rule. */
export function findingsIn({ text, line, isCell }: Block): Finding[] {
  return plain(text).split(SENTENCE_END).flatMap((sentence) => {
    const words = sentence.split(" ").filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    const stops = sentence.match(/[;:](?=\s)/g)?.length ?? 0;
    const problems = BANNED.flatMap(([pattern, instead]) => {
      const match = pattern.exec(sentence);
      return match === null ? [] : [`"${match[0]}": ${instead}`];
    });
    if (!isCell && words > MAX_WORDS) problems.push(`${words} words, at most ${MAX_WORDS}`);
    if (!isCell && stops > 1) problems.push("more than one colon or semicolon: split it");
    return problems.map((problem) => ({ line, problem, sentence }));
  });
}
