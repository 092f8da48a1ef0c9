/** The fields of a stored error that `docs/errors.md` has advice on. */
export interface RefusalNames {
  code?: string;
  reason?: string;
  contractError?: string;
  transactionError?: string;
}

/**
 * Finds the advice on a refusal in `docs/errors.md`: by its reason, else by its most specific name. Undefined when only its
 * message helps.
 */
export async function adviceOn({ reason, contractError, transactionError }: RefusalNames): Promise<string | undefined> {
  const { default: page } = await import("../../docs/errors.md", { with: { type: "text" } });
  const found = (reason && ofReason(page, reason)) || ofName(page, contractError) || ofName(page, transactionError);
  return found && plain(found);
}

/** The last cell of the reason's row. */
function ofReason(page: string, reason: string): string | undefined {
  const row = page.split("\n").find((line) => line.startsWith(`| \`${reason}\` |`));
  return row?.split("|").at(-2)?.trim();
}

function ofName(page: string, name: string | undefined): string | undefined {
  const section = page.split("\n### ").find((text) => text.startsWith(`${name}\n`));
  return /^\*\*Do:\*\* (.+)$/m.exec(section ?? "")?.[1];
}

/** Without Markdown. */
function plain(text: string): string {
  return text.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("`", "");
}
